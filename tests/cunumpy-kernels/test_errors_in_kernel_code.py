"""What compilers say of the code of elementwise and reduction kernels names the argument, and the line in it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cunumpy.errors import CompileError, KernelError
from cunumpy.kernels import ElementwiseKernel, ReductionKernel

if TYPE_CHECKING:
    from collections.abc import Callable

COMPILERS = [
    pytest.param(name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"there is no {name}"))
    for name in ("g++", "clang++")
]


@pytest.fixture(params=COMPILERS, autouse=True)
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("CXX", request.param)
    return request.param


def failure(call: Callable[..., object]) -> CompileError:
    with pytest.raises(CompileError) as caught:
        call(np.ones(3))
    return caught.value


def places(error: CompileError) -> list[tuple[str | None, int | None]]:
    return [(one.file, one.line) for one in error.messages if one.severity == "error"]


def assert_shown(error: CompileError, line: str, wrong: str) -> None:
    """The text has the user's line, and a mark below what is wrong."""
    lines = str(error).splitlines()
    at = next(number for number, one in enumerate(lines) if line in one)
    assert lines[at + 1].index("^") == lines[at].index(wrong)


def test_elementwise() -> None:
    kernel = ElementwiseKernel(
        "T x",
        "T y",
        "y = x;\n\n  y = unknown_3  // so",
        "wrong",
        preamble="\n__device__ int one() { return unknown_1; }\n",
        loop_prep="int k = 0;\nk = unknown_2",
        after_loop="k = unknown_4",
    )
    error = failure(kernel)
    assert places(error) == [("<preamble>", 2), ("<loop_prep>", 2), ("<operation>", 3), ("<after_loop>", 1)]
    assert str(error).startswith("ElementwiseKernel 'wrong': does not compile for the CPU with ")
    assert "<operation>:3:7: error: " in str(error)
    assert error.log in str(error)
    assert "brackets" not in str(error)
    assert_shown(error, "  y = unknown_3  // so", "unknown_3")
    assert_shown(error, "__device__ int one() { return unknown_1; }", "unknown_1")


def test_reduction() -> None:
    kernel = ReductionKernel(
        "T x", "T y", "x +\nunknown_2", "a + unknown_3", "y = a;\ny = unknown_4", "unknown_1", "wrong",
        preamble="int unknown_0 = unknown;",
    )  # fmt: skip
    error = failure(kernel)
    assert set(places(error)) == {
        *(("<preamble>", 1), ("<identity>", 1), ("<map_expr>", 2), ("<reduce_expr>", 1), ("<post_map_expr>", 2)),
    }
    assert_shown(error, "y = unknown_4", "unknown_4")
    assert_shown(error, "a + unknown_3", "unknown_3")
    kernel = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "wrong", reduce_type="unknown_t")
    assert places(failure(kernel))[0] == ("<reduce_type>", 1)


def test_what_is_not_finished() -> None:
    for text in ("y = x +", "y = x + // one\n"):
        error = failure(ElementwiseKernel("T x", "T y", text, "wrong"))
        assert places(error)[0][0] == "<operation>"
    error = failure(ReductionKernel("T x", "T y", "x", "a +  ", "y = a", "0", "wrong"))
    assert places(error)[0] == ("<reduce_expr>", 1)


@pytest.mark.parametrize("text", ["if (x > 0) { y = x;", "y = x; }", "y = (x"])
def test_brackets(text: str) -> None:
    error = failure(ElementwiseKernel("T x", "T y", text, "wrong", preamble="struct A { int a; };"))
    in_code = [file for file, _ in places(error) if file != "<generated loop>"]
    assert "The brackets of <operation> do not match.\n" in str(error) or in_code[0] == "<operation>"
    assert "<preamble>" not in str(error)


def test_code_may_end_in_comments_and_directives() -> None:
    kernel = ElementwiseKernel(
        "T x",
        "T y",
        "y = x + one + k  // the sum\n#if 0\n!\n#endif",
        "ends",
        preamble="#define one 1  // number",
        loop_prep="int k = 2;  \n\t/* nothing */ //",
    )
    np.testing.assert_array_equal(kernel(np.arange(3.0)), np.arange(3.0) + 3)
    kernel = ReductionKernel("T x", "T y", "x // each", "a + b /* pairs */", "y = a; //", "0 //", "ends")
    assert kernel(np.arange(4.0)) == 6
    brackets = ReductionKernel("T x", "T y", "x", "a + b", "if (a > 2) { y = a; } else y = 0", None, "brackets")
    assert brackets(np.arange(4.0)) == 6


def test_loops_may_be_opened_before_and_closed_behind() -> None:
    kernel = ElementwiseKernel(
        "T x", "T y", "y = x + k", "open", loop_prep="for (int k = 0; k < 3; ++k) {", after_loop="}"
    )
    np.testing.assert_array_equal(kernel(np.arange(3.0)), np.arange(3.0) + 2)


def test_assertions_and_assembly() -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x;\nassert(x < 1)", "asserting")
    with pytest.raises(KernelError, match=r"<operation>.*2"):
        kernel(np.arange(3.0))
    with pytest.raises(CompileError, match=r"^<operation>:2: the CPU device can't run this inline PTX: .*bogus"):
        ElementwiseKernel("T x", "T y", 'y = x;\nasm("bogus;");', "assembly")(np.ones(2))
