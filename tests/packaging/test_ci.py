"""The table of CI groups: what a change calls for, and how failures show."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from distributions import MEMBERS, PACKAGES, ROOT

README = """
Run it:

```sh
uv run docs/examples/landau_damping.py
```

Test it:

```sh
python3 -m pip install uv && python3 -m uv run pytest -n auto
```

```python
print("pytest")
```
"""


@pytest.fixture(scope="module")
def ci() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ci", ROOT / "tools/ci.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["ci"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def commit(folder: Path, message: str, hours_ago: float = 0, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "add", "-A")
    when = f"{int(time.time() - hours_ago * 3600)} +0000"
    environment = os.environ | {"GIT_COMMITTER_DATE": when, "GIT_AUTHOR_DATE": when}
    git(folder, "commit", "-q", "-m", message, env=environment)


def git(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> None:
    identity = ["-c", "user.name=A Developer", "-c", "user.email=developer@example.com"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, env=env)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    commit(tmp_path, "long ago", hours_ago=50, old="1")
    return tmp_path


def test_commands_are_the_readme_s_own_text(ci: ModuleType) -> None:
    command = "python3 -m pip install uv && python3 -m uv run pytest -n auto"
    assert ci.readme_command(README, "pytest -n auto") == command
    table = {group.name: group for group in ci.groups(README)}
    assert table["README tests"].command == command
    assert table["README main job"].command == "uv run docs/examples/landau_damping.py"


@pytest.mark.parametrize("readme", ["", README + README])
def test_readme_without_exactly_one_command_is_refused(readme: str, ci: ModuleType) -> None:
    with pytest.raises(SystemExit, match=r"expected one sh block that ends with 'pytest', found [02]"):
        ci.readme_command(readme, "pytest")


def test_real_readme_has_both_commands(ci: ModuleType) -> None:
    names = [group.name for group in ci.groups((ROOT / "README.md").read_text(encoding="utf-8"))]
    assert len(set(names)) == len(names)


def test_changes_of_the_last_hours(repository: Path, ci: ModuleType) -> None:
    assert ci.changed_files(repository) == []
    commit(repository, "recent", hours_ago=2, packages__a__x="1")
    commit(repository, "now", b="1")
    assert ci.changed_files(repository) == ["b", "packages/a/x"]
    assert ci.changed_files(repository, hours=1) == ["b"]


def test_changes_that_came_by_a_merge_count(repository: Path, ci: ModuleType) -> None:
    git(repository, "checkout", "-q", "-b", "side")
    commit(repository, "developed yesterday", hours_ago=20, side="1")
    git(repository, "checkout", "-q", "-")
    git(repository, "merge", "-q", "--no-ff", "-m", "merged now", "side")
    assert ci.changed_files(repository) == ["side"]


def test_changes_that_can_not_be_told(
    repository: Path, ci: ModuleType, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shallow = tmp_path_factory.mktemp("clones") / "shallow"
    git(repository, "clone", "-q", "--depth", "1", repository.as_uri(), str(shallow))
    assert ci.changed_files(shallow) is None
    assert ci.changed_files(tmp_path_factory.mktemp("no_repository")) is None


def test_needs_follow_the_workspace(ci: ModuleType) -> None:
    assert ci.needed_by(("cunumpy-rng",)) == {"cunumpy-rng", "cunumpy-cuda", "cunumpy-core"}
    assert ci.needed_by(("cunumpy",)) == {"cunumpy", *MEMBERS}
    for name, row in MEMBERS.items():
        assert ci.needed_by((name,)) == {name, "cunumpy-core", *row.needs}


def test_oldest_versions_are_those_that_the_packages_declare(ci: ModuleType) -> None:
    declared = {
        requirement.partition(">=")[0]: requirement.partition(">=")[2]
        for name in MEMBERS
        for requirement in tomllib.loads((PACKAGES / name / "pyproject.toml").read_text())["project"]["dependencies"]
        if not requirement.startswith("cunumpy")
    }
    tested = dict(re.findall(r"^([\w-]+)==([\d.]+)\.\*$", ci.OLDEST, re.MULTILINE))
    assert declared
    assert {name: tested[name] for name in declared} == declared


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (None, True),
        ([], False),
        (["README.md", "docs/index.md", "tests/cunumpy-mpi/test_x.py"], False),
        (["packages/cunumpy-rng/src/cunumpy/rng/__init__.py"], True),
        (["tests/cunumpy-rng/test_x.py"], True),
        (["packages/cunumpy-core/README.md"], True),
        (["packages/cunumpy-solvers/pyproject.toml"], False),
        (["benchmarks/rng.py"], True),
        (["pyproject.toml"], True),
        (["tests/array_kinds.py"], True),
        ([".ci/run"], True),
    ],
)
def test_what_a_change_calls_for(changed: list[str] | None, expected: bool, ci: ModuleType) -> None:
    group = ci.Group("x", "true", distributions=("cunumpy-rng",), paths=("benchmarks/",))
    assert ci.is_due(group, changed) is expected
    assert ci.is_due(ci.Group("always", "true"), changed)


def run_table(
    ci: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    *table: object,
    arguments: list[str] | None = None,
) -> tuple[int, str]:
    monkeypatch.setattr(ci, "groups", lambda readme: list(table))
    monkeypatch.setattr(ci, "changed_files", list)
    monkeypatch.setattr(ci, "install_compiler", lambda: None)
    code = ci.main(arguments or [])
    return code, capfd.readouterr().out


def test_failure_shows_in_summary_and_exit_code(
    ci: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    table = [
        ci.Group("good", "echo fine"),
        ci.Group("no tests", "exit 5"),
        ci.Group("stuck", "sleep 60", minutes=0.01),
        ci.Group("after", "echo still run"),
        ci.Group("unchanged", "echo unexpected", distributions=("cunumpy-rng",)),
        ci.Group("future", "echo unexpected", python="3.99"),
        ci.Group("one of several", "test -x {python}", python=f"3.99 or {sys.version_info[0]}.{sys.version_info[1]}"),
        ci.Group("elsewhere", "echo unexpected", program="no-such-program"),
        ci.Group("sibling", "echo unexpected", full_only=True),
    ]
    code, out = run_table(ci, monkeypatch, capfd, *table)
    assert code == 1
    assert "still run" in out
    assert "\nunexpected" not in out
    summary = out.partition("\nSummary\n")[2].splitlines()
    outcomes = {line[2:20].strip(): line[30:].strip() for line in summary[:-1]}
    assert outcomes == {
        "good": "passed",
        "no tests": "FAILED (exit code 5)",
        "stuck": "FAILED (stopped after 0.01 minutes)",
        "after": "passed",
        "unchanged": "not due (no change in the last 4 hours)",
        "future": "not run (no Python 3.99 here)",
        "one of several": "passed",
        "elsewhere": "not run (no no-such-program here)",
        "sibling": "not due (run by --full)",
    }
    assert summary[-1] == "groups: 3 passed, 2 failed"


@pytest.mark.parametrize("arguments", [["--full"], ["sibling"]])
def test_what_a_sibling_speaks_for_runs_in_full_and_by_name(
    ci: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    monkeypatch.setattr(ci, "groups", lambda readme: [ci.Group("sibling", "echo it runs", full_only=True)])
    monkeypatch.setattr(ci, "install_compiler", lambda: None)
    assert ci.main(arguments) == 0
    assert "\nit runs\n" in capfd.readouterr().out


def test_what_siblings_do_more_of_is_left_out_by_full(
    ci: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    table = [ci.Group("whole", "echo all of it", full_only=True), ci.Group("short", "echo some of it", short=True)]
    assert run_table(ci, monkeypatch, capfd, *table, arguments=["--full"])[1].count("of it\n") == 2  # with its title
    assert "\nsome of it\n" in run_table(ci, monkeypatch, capfd, *table)[1]
    assert "\nsome of it\n" in run_table(ci, monkeypatch, capfd, *table, arguments=["--full", "short"])[1]


def test_groups_of_one_core_run_side_by_side(
    ci: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Each waits for what the other writes, and shows all of its output in one piece."""
    wait = "until test -e {}; do sleep 0.01; done"
    table = [
        ci.Group("before", f"echo before > {tmp_path}/order"),
        ci.Group("one", f"echo a; touch {tmp_path}/a; {wait.format(tmp_path / 'b')}; echo b >&2", one_core=True),
        ci.Group("between", f"echo between >> {tmp_path}/order"),
        ci.Group("two", f"{wait.format(tmp_path / 'a')}; touch {tmp_path}/b; exit 3", one_core=True, minutes=1),
        ci.Group("three", "sleep 60", one_core=True, minutes=0.01),
    ]
    monkeypatch.setattr(ci, "cores", lambda: 2)
    code, out = run_table(ci, monkeypatch, capfd, *table)
    assert code == 1
    assert (tmp_path / "order").read_text() == "before\nbetween\n"
    assert "\na\nb\n\n=== one: passed\n" in out
    summary = [line.split(maxsplit=3) for line in out.partition("\nSummary\n")[2].splitlines()[:-1]]
    assert [[line[0], line[-1]] for line in summary] == [
        ["before", "passed"],
        ["one", "passed"],
        ["between", "passed"],
        ["two", "FAILED (exit code 3)"],
        ["three", "FAILED (stopped after 0.01 minutes)"],
    ]


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="signals of POSIX")
@pytest.mark.parametrize("one_core", [False, True])
def test_a_run_that_is_stopped_stops_what_it_started(one_core: bool, tmp_path: Path) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(ROOT / "tools")!r})
import ci, signal
group = [ci.Group(n, "echo $$ > {tmp_path}/" + n + "; exec sleep 60", one_core={one_core}) for n in ("a", "b")]
ci.groups = lambda readme: group
ci.cores = lambda: 2
signal.signal(signal.SIGTERM, ci.stop)
sys.exit(ci.main([]))
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL)
    started = [tmp_path / "a", tmp_path / "b"][: 1 + one_core]
    while not all(file.exists() and file.read_text().strip() for file in started):
        assert process.poll() is None
        time.sleep(0.01)
    process.terminate()
    assert process.wait() == 1
    for file in started:
        with pytest.raises(ProcessLookupError):
            os.killpg(int(file.read_text()), 0)


def test_success_is_exit_code_zero(
    ci: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out = run_table(ci, monkeypatch, capfd, ci.Group("good", "echo fine"))
    assert code == 0
    assert out.endswith("groups: 1 passed, 0 failed\n")


def test_nothing_run_is_a_failure(
    ci: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    code, _ = run_table(ci, monkeypatch, capfd, ci.Group("future", "echo", python="3.99"))
    assert code == 1


def test_a_failing_command_before_others_fails_the_group(
    ci: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    code, _ = run_table(ci, monkeypatch, capfd, ci.Group("steps", "false\necho done"))
    assert code == 1


@pytest.mark.parametrize(
    ("found", "user", "installs"),
    [
        ({"g++", "apt-get"}, 0, False),
        ({"clang++", "apt-get"}, 0, False),
        ({"apt-get"}, 0, True),
        ({"apt-get"}, 1000, False),
        (set(), 0, False),
    ],
)
def test_a_new_machine_gets_a_compiler(
    found: set[str], user: int, installs: bool, ci: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = []
    monkeypatch.setattr(ci.shutil, "which", lambda name: name if name in found else None)
    monkeypatch.setattr(ci.os, "geteuid", lambda: user, raising=False)
    monkeypatch.setattr(ci.subprocess, "run", lambda command, **options: commands.append(command))
    ci.install_compiler()
    assert [command[:2] for command in commands] == [["apt-get", "update"], ["apt-get", "install"]] * installs
    assert not installs or commands[-1][-1] == "g++"


def test_unknown_group_is_refused_with_the_known_ones(ci: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        ci.main(["lint", "types", "tpyes"])
    assert caught.value.code == 2
    message = capsys.readouterr().err
    assert "no group 'tpyes'" in message
    assert "real CuPy" in message


def test_finds_a_python_by_version(ci: ModuleType) -> None:
    ours = f"{sys.version_info[0]}.{sys.version_info[1]}"
    found = ci.find_python(ours)
    assert found is not None
    shown = subprocess.run([found, "-V"], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith(f"Python {ours}.")
    assert ci.find_python("3.99") is None
