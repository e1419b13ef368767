"""Versions against `packaging`, the reference implementation of PEP 440."""

from importlib import metadata
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from cunumpy import _versions, errors

numbers = st.sampled_from(["0", "1", "2", "10", "00", "007", "14"])
separators = st.sampled_from(["", ".", "-", "_"])


@st.composite
def spelled_versions(draw):
    """Strings close to every spelling that PEP 440 allows; many are valid, some just miss."""
    parts = [draw(st.sampled_from(["", "", "v", "V"])), draw(st.sampled_from(["", "", "0!", "2!"]))]
    parts.append(".".join(draw(st.lists(numbers, min_size=1, max_size=4))))
    if draw(st.booleans()):
        word = draw(st.sampled_from(["a", "b", "c", "rc", "alpha", "Beta", "pre", "preview", "RC", "gamma"]))
        parts += [draw(separators), word, draw(separators), draw(st.sampled_from(["", "0", "1", "12"]))]
    if draw(st.booleans()):
        if draw(st.booleans()):
            parts += ["-", draw(numbers)]
        else:
            word = draw(st.sampled_from(["post", "rev", "r", "POST"]))
            parts += [draw(separators), word, draw(separators), draw(st.sampled_from(["", "0", "3"]))]
    if draw(st.booleans()):
        parts += [draw(separators), draw(st.sampled_from(["dev", "DEV"])), draw(st.sampled_from(["", "0", ".4", "-"]))]
    if draw(st.booleans()):
        parts += ["+", draw(st.sampled_from(["abc", "1", "2.abc", "ABC-10", "a_b", "ubuntu.01", "", "a..b", "10"]))]
    text = "".join(parts)
    return draw(st.sampled_from([text, f" {text}\n"]))


any_text = st.text(alphabet="0123456789.abcdevrpost+-_!v \n١ſé", max_size=12)


def reference(text):
    try:
        return Version(text)
    except InvalidVersion:
        return None


@given(spelled_versions() | any_text)
@example("")
@example("14.0.0-")
@example("1.0.post")
def test_the_same_strings_are_versions(text):
    assert (_versions.version_key(text) is None) == (reference(text) is None)


@given(spelled_versions(), spelled_versions())
@example("1.0.dev1", "1.0a1")
@example("1.0.post1.dev2", "1.0.post1")
@example("1.0+1", "1.0+a")
@example("1!0.1", "99")
def test_the_order_is_that_of_packaging(one, two):
    expected = reference(one), reference(two)
    if None in expected:
        return
    keys = _versions.version_key(one), _versions.version_key(two)
    assert (keys[0] < keys[1], keys[0] == keys[1]) == (expected[0] < expected[1], expected[0] == expected[1])


def test_the_order_of_pep_440():
    ordered = "1.dev0 1.0.dev456 1.0a1 1.0a2.dev456 1.0a12 1.0b1.dev456 1.0b2 1.0b2.post345.dev456 1.0b2.post345 "
    ordered += "1.0rc1.dev456 1.0rc1 1.0 1.0+abc.5 1.0+abc.7 1.0+5 1.0.post456.dev34 1.0.post456 1.0.15 1.1.dev1"
    keys = [_versions.version_key(text) for text in ordered.split()]
    assert all(one < two for one, two in pairwise(keys))


@pytest.mark.parametrize(
    "supported",
    ["14.0.0", "14.0", "14", "15", "14.0.0.post1", "14.0.0+cuda12", "14.1.0rc1", "14.0.1.dev0", " 14.2.0 "],
)
def test_supported_versions_of_cupy(supported):
    assert _versions.cupy_version_supported(supported) is True


@pytest.mark.parametrize(
    "unsupported",
    [
        "13.6.0",
        "14.0.0rc1",
        "14.0.0-rc1",
        "14.0.0c1",
        "14.0.0pre1",
        "14.0.0.dev1",
        "14.0.0a1",
        "1.2.3.4",
        "abc",
        "",
        "14.0.0 or so",
    ],
)
def test_unsupported_versions_of_cupy(unsupported):
    assert _versions.cupy_version_supported(unsupported) is False


@pytest.mark.parametrize("value", [None, 14, 14.0, (14, 0), b"14.0.0"])
def test_a_version_of_cupy_is_a_string(value):
    with pytest.raises(errors.ArgumentTypeError, match=r"cupy_version_supported: cupy_version must be a string .*not"):
        _versions.cupy_version_supported(value)


@pytest.fixture
def installed(monkeypatch):
    return lambda text: monkeypatch.setattr(_versions, "version", lambda: text)


@pytest.mark.parametrize(
    ("present", "minimum"),
    [
        ("0.8.0", "0.8"),
        ("0.8.0", "0.8.0"),
        ("0.10.0", "0.8.1"),
        ("0.8.0.post1", "0.8.0"),
        ("0.8.0+local", "0.8.0"),
        ("0.8.0", "0.8.0+local"),
        ("0.8.0", "0.8.0rc1"),
        ("1!0.1", "99"),
    ],
)
def test_versions_that_will_do(installed, present, minimum):
    installed(present)
    _versions.require_version(minimum)


@pytest.mark.parametrize(
    ("present", "minimum"),
    [
        ("0.8.0", "0.8.1"),
        ("0.8.0", "0.8.0.1"),
        ("0.8.0.dev0", "0.8.0"),
        ("0.8.0rc1", "0.8.0"),
        ("0.8.0", "0.10"),
        ("0.8.0", "0.8.0.post1"),
        ("0.8.0", "1"),
    ],
)
def test_versions_that_are_too_old(installed, present, minimum):
    installed(present)
    with pytest.raises(errors.MissingPackageError) as caught:
        _versions.require_version(minimum)
    assert isinstance(caught.value, ImportError)
    text = str(caught.value)
    assert "cunumpy-core" in text
    assert present in text
    assert f"uv add 'cunumpy-core>={minimum}'" in text


@pytest.mark.parametrize("minimum", ["", "abc", "0.8.x", ">=0.8", "0.8 or later"])
def test_nonsense_is_no_minimum(minimum):
    with pytest.raises(errors.ArgumentError, match="require_version: minimum must be a version as in PEP 440"):
        _versions.require_version(minimum)


@pytest.mark.parametrize("minimum", [None, 0.8, (0, 8)])
def test_a_minimum_is_a_string(minimum):
    with pytest.raises(errors.ArgumentTypeError, match="require_version: minimum must be a string"):
        _versions.require_version(minimum)


def test_an_unknown_version_is_not_compared_and_says_so(installed):
    installed(_versions.UNKNOWN_VERSION)
    with pytest.warns(errors.InstallationWarning, match=r"whether cunumpy-core is at least 99 is not known.*0\.0\.0"):
        _versions.require_version("99")


def test_the_version_is_that_of_cunumpy_core():
    assert _versions.version() == metadata.version("cunumpy-core")


def test_without_metadata_the_version_is_unknown(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert _versions.version.__wrapped__() == "0.0.0+unknown"
    assert _versions.installed_version("cunumpy-core") is None


def test_all_nine_distributions_are_known():
    folders = {path.parent.name for path in (Path(__file__).parents[2] / "packages").glob("*/pyproject.toml")}
    assert set(_versions.DISTRIBUTIONS) == folders


bounds = st.lists(
    st.tuples(
        st.sampled_from([">=", "<=", "==", "!=", "<"]),
        st.sampled_from(["0", "0.8", "0.8.0", "0.9", "0.9.0rc1", "1.0.dev1", "1!0.1", "0.8.post1"]),
    ),
    max_size=3,
)


@given(spelled_versions(), bounds)
@example("0.9rc1", [(">=", "0.8"), ("<", "0.9")])
@example("0.8.0.dev1", [(">=", "0.8")])
@example("0.9.dev0", [("<", "0.9.0rc1")])
def test_specifiers_allow_what_packaging_allows(version, bounds):
    try:
        Version(version)
    except InvalidVersion:
        return
    version = version.partition("+")[0]  # `==` heeds local parts, which no package of ours is compared by
    text = ",".join(operator + bound for operator, bound in bounds)
    assert _versions.satisfies(version, text) is SpecifierSet(text).contains(version, prereleases=True)


def test_what_is_no_version_is_not_refused():
    assert _versions.satisfies("0.0.0+unknown and more", ">=9")
