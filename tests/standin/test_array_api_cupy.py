"""Every function of the array API standard on the CuPy backend, with `array_api_strict` as the judge."""

from __future__ import annotations

import sys

import pytest

import array_api_calls
import cunumpy as xp

pytestmark = pytest.mark.needs("array_api_strict")


@pytest.mark.parametrize("name", array_api_calls.CALLS)
def test_results_are_the_standards(name):
    array_api_calls.check(name, 6)


@pytest.mark.long
@pytest.mark.parametrize("name", array_api_calls.CALLS)
def test_results_are_the_standards_in_many_calls(name):
    array_api_calls.check(name, 100)


@pytest.mark.parametrize("known", array_api_calls.exceptions("cupy"), ids=lambda one: one.name)
def test_known_exceptions_are_still_exceptions(known):
    assert known.applies(known.example)
    with pytest.raises((AssertionError, TypeError)):
        array_api_calls.assert_follows(known.name, known.example)


def test_constants_and_dtypes():
    array_api_calls.check_constants_and_dtypes()


def test_inspection():
    array_api_calls.check_inspection()
    assert xp.__array_namespace_info__().default_device() == sys.modules["cupy"].cuda.Device(0)
