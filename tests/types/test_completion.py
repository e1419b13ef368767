"""What an editor offers behind ``xp.``, asked of pyright's language server as editors ask it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cunumpy as xp
from cunumpy import _installation

pytestmark = pytest.mark.needs("basedpyright")


class Editor:
    """An editor with one file open, and a language server."""

    def __init__(self, folder: Path) -> None:
        # What `basedpyright-langserver` starts, also where programs of the environment are not on the path.
        command = "import sys; from basedpyright.langserver import main; sys.exit(main())"
        self.server = subprocess.Popen(
            [sys.executable, "-c", command, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder
        )
        self.file = folder / "program.py"
        self.version = self.number = 0
        self.ask("initialize", processId=None, rootUri=folder.as_uri(), capabilities={"textDocument": SIGNATURES})
        self.tell("initialized")

    def close(self) -> None:
        self.ask("shutdown")
        self.tell("exit")
        self.server.communicate(timeout=60)

    def send(self, **message: Any) -> None:
        content = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.server.stdin is not None
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(content) + content)
        self.server.stdin.flush()

    def tell(self, method: str, **parameters: Any) -> None:
        self.send(method=method, params=parameters)

    def ask(self, method: str, **parameters: Any) -> Any:
        """Give the answer to a request; what the server asks or tells meanwhile is settled."""
        self.number += 1
        self.send(id=self.number, method=method, params=parameters)
        while True:
            message = self.receive()
            if message.get("method") == "workspace/configuration":
                settings = {"pythonPath": sys.executable, "analysis": {"diagnosticMode": "openFilesOnly"}}
                self.send(id=message["id"], result=[settings for _ in message["params"]["items"]])
            elif "method" in message and "id" in message:
                self.send(id=message["id"], result=None)
            elif message.get("id") == self.number and "method" not in message:
                assert "error" not in message, message
                return message["result"]

    def receive(self) -> dict[str, Any]:
        assert self.server.stdout is not None
        size = 0
        while line := self.server.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
        assert size, "the language server has ended"
        return json.loads(self.server.stdout.read(size))

    def at_the_end_of(self, text: str, method: str) -> Any:
        """Ask something about the place behind a text that was typed."""
        document = {"uri": self.file.as_uri(), "languageId": "python", "version": self.version, "text": text}
        if self.version:
            self.tell("textDocument/didClose", textDocument={"uri": document["uri"]})
        self.version += 1
        self.tell("textDocument/didOpen", textDocument=document)
        lines = text.split("\n")
        place = {"line": len(lines) - 1, "character": len(lines[-1])}
        return self.ask(method, textDocument={"uri": document["uri"]}, position=place)

    def completions(self, text: str) -> set[str]:
        answer = self.at_the_end_of(text, "textDocument/completion")
        return {item["label"] for item in (answer["items"] if isinstance(answer, dict) else answer)}

    def signature(self, text: str) -> str:
        return self.at_the_end_of(text, "textDocument/signatureHelp")["signatures"][0]["label"]


SIGNATURES = {"signatureHelp": {"signatureInformation": {"documentationFormat": ["plaintext"]}}}


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    folder = tmp_path_factory.mktemp("project")
    (folder / "pyrightconfig.json").write_text("{}")
    editor = Editor(folder)
    yield editor
    editor.close()


def test_numpys_names_and_ours_are_offered(editor: Editor) -> None:
    offered = editor.completions("import cunumpy as xp\nxp.")
    numpys = {name for name in np.__all__ if name[0] != "_" and hasattr(xp, name)}
    assert len(numpys) > 400
    assert sorted((numpys | set(xp.__all__) | set(_installation.SUBMODULES)) - offered) == []
    # Nothing private of the stub, and no name that is not there.
    assert [name for name in offered if not name.startswith("__") and (name[0] == "_" or not hasattr(xp, name))] == []


@pytest.mark.parametrize("name", sorted(set(_installation.SUBMODULES) - {"xp"}))
def test_names_of_submodules_are_offered(name: str, editor: Editor) -> None:
    offered = editor.completions(f"import cunumpy as xp\nxp.{name}.")
    assert sorted(set(getattr(xp, name).__all__) - offered) == []


@pytest.mark.parametrize(
    ("call", "parameters"),
    [
        ("xp.linspace(", ["start", "stop", "num", "endpoint"]),
        ("xp.linalg.norm(", ["x", "ord", "axis", "keepdims"]),
        ("xp.to_numpy(", ["array"]),
        ("xp.use_backend(", ["backend", "strict"]),
        ("xp.rng.philox_normal(", ["seed", "stream", "counter"]),
        ("xp.kernels.CudaKernel(", ["source", "name"]),
        ("xp.algorithms.segment_sum(", ["values"]),
        ("xp.mpi.exchange(", ["comm", "sends", "receives"]),
    ],
)
def test_parameters_are_shown(call: str, parameters: list[str], editor: Editor) -> None:
    shown = editor.signature(f"import cunumpy as xp\n{call}")
    places = [shown.find(f"{parameter}:") for parameter in parameters]
    assert min(places) >= 0, shown
    assert places == sorted(places), shown
