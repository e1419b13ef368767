"""Every public function that takes arrays, with every kind of array for every argument.

The functions are found by looking (`public_surface`), so that a new one is either in the table of calls
(`array_calls`), with each of its parameters, or said to take no arrays.
"""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from array_calls import CALLS, NO_ARRAYS, TRIED_ELSEWHERE, Call
from array_kinds import as_compared
from array_variants import Variant, other_values, same_values
from cunumpy.errors import MissingPackageError
from public_surface import parameters, public_callables

ARGUMENTS = [(name, argument) for name, call in CALLS.items() for argument in call.arrays]


def test_every_public_function_is_in_the_table() -> None:
    found = public_callables()
    tables = [set(CALLS), set(TRIED_ELSEWHERE), NO_ARRAYS]
    for name in found:
        rows = [row for table in tables for row in table if row == name or _covers(row, name)]
        assert rows, f"{name} is neither in array_calls.CALLS nor said to take no arrays"
        assert len(rows) == 1, f"{name} has several rows: {rows}"
    for row in set().union(*tables):
        assert any(row == name or _covers(row, name) for name in found), f"there is no public function {row}"


def _covers(row: str, name: str) -> bool:
    return row.endswith(".*") and name.startswith(row[:-1])


@pytest.mark.parametrize("name", TRIED_ELSEWHERE)
def test_what_is_tried_elsewhere_is_in_that_file(name: str) -> None:
    text = (Path(__file__).parent / TRIED_ELSEWHERE[name]).read_text(encoding="utf-8")
    wanted = [part for part in name.split(".") if not part.startswith("__") and part != "*"][-1]
    assert re.search(rf"\b{wanted}\b|{wanted.removeprefix('Serial')}", text)


@pytest.mark.parametrize("name", CALLS)
def test_every_parameter_is_tried_or_said_to_be_no_array(name: str) -> None:
    call = CALLS[name]
    tried = {re.split(r"[\[.]", argument)[0] for argument in call.arrays}
    known = set(parameters(public_callables()[name]))
    assert tried | set(call.plain) == known | set(call.own), name


def _results(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_results(item) for item in value]
    return value


def differ(got: Any, wanted: Any, call: Call) -> str:
    """Say in what a result differs from the definition's."""
    got, wanted = _results(got), _results(wanted)
    if isinstance(wanted, list):
        if not isinstance(got, list) or len(got) != len(wanted):
            return f"gave {got!r}, expected {wanted!r}"
        return "; ".join(filter(None, (differ(a, b, call) for a, b in zip(got, wanted, strict=True))))
    if isinstance(wanted, (np.ndarray, np.generic)):
        a, b = np.asarray(got), np.asarray(wanted)
        if a.shape != b.shape or (call.dtypes and a.dtype.newbyteorder("=") != b.dtype.newbyteorder("=")):
            return f"gave shape {a.shape} and dtype {a.dtype}, expected {b.shape} and {b.dtype}"
        try:
            if call.rtol and b.dtype.kind in "fc":
                np.testing.assert_allclose(a, b, rtol=call.rtol, atol=call.rtol)
            else:
                np.testing.assert_array_equal(a, b)
        except AssertionError:
            return f"gave {a!r}, expected {b!r}"
        return ""
    return "" if got == wanted else f"gave {got!r}, expected {wanted!r}"


def clear(error: Exception, name: str, argument: str, call: Call, alone: bool) -> str:
    """Say what an error doesn't name: the function, and the argument, or one that it does not fit to."""
    if call.own_words and (not alone or "anything" in call.takes.get(argument, ())):
        return ""
    if not isinstance(error, call.errors):
        return f"raised {type(error).__name__}: {error}"
    text = str(error)
    function = call.function or name.rpartition(".")[2]
    if not re.search(function, text):
        return f"doesn't name {function}: {text}"
    if isinstance(error, MissingPackageError):
        return ""
    said = [call.names.get(one, rf"\b{re.escape(one)}") for one in ([argument] if alone else call.arrays)]
    if not any(re.search(one, text) for one in said):
        return f"doesn't name {argument}: {text}"
    return ""


def _other(call: Call, argument: str) -> Any:
    """Give an argument that is not tried now; what can be left out is, so that outputs set no dtype."""
    return None if "None" in call.takes.get(argument, ()) else call.arrays[argument].copy()


def failures(name: str, argument: str, variants: Iterator[Variant]) -> list[str]:
    """Call a function with each variant of an argument, and tell what is wrong."""
    call = CALLS[name]
    found = []
    for variant in variants:
        if variant.name in call.skip.get(argument, ()):
            continue
        arrays = {other: _other(call, other) for other in call.arrays}
        plain = {other: _other(call, other) for other in call.arrays}
        if argument in call.any_dtype and type(variant.value) is np.ndarray and variant.values is None:
            variant = replace(variant, values=variant.value.copy())
        arrays[argument] = variant.value
        compared = {other: copy.deepcopy(as_compared(value)) for other, value in arrays.items()}
        memory = None if variant.memory is None else variant.memory.copy()
        got, error = None, None
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                got = call.run(**arrays)
            except Exception as raised:
                error = raised
            wanted, refused = None, variant.values is None
            if not refused:
                plain[argument] = np.array(variant.values)
                try:
                    wanted = call.expected(**plain)
                except Exception:
                    refused = True
        problem = ""
        if error is not None:
            problem = clear(error, name, argument, call, variant.values is None)
            if variant.name == "C order":
                problem = problem or f"refused: {error}"
        elif variant.values is None:
            allowed = variant.name in call.takes.get(argument, ()) or "anything" in call.takes.get(argument, ())
            problem = "" if allowed else f"was taken: {got!r}"
        elif refused:
            problem = f"was taken, though its values make no sense: {got!r}"
        else:
            problem = differ(got, wanted, call)
        for other, value in arrays.items():
            if (error is not None or other not in call.written) and as_compared(value) != compared[other]:
                problem += f"; changed {other}"
        if variant.memory is not None and memory is not None and argument in call.written and error is None:
            after = np.array(variant.value)
            variant.value[...] = np.asarray(variant.values)
            if not np.array_equal(variant.memory, memory):
                problem += "; wrote outside of the array"
            variant.value[...] = after
        if problem:
            found.append(f"{variant.name}: {problem}")
    return found


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_the_same_values_in_other_forms(name: str, argument: str, tmp_path: Path) -> None:
    found = failures(name, argument, same_values(CALLS[name].arrays[argument], tmp_path))
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_other_shapes_and_dtypes_and_what_is_no_array(name: str, argument: str, tmp_path: Path) -> None:
    found = failures(name, argument, other_values(CALLS[name].arrays[argument], tmp_path))
    assert not found, "\n".join(["", *found])
