"""The environment variables: one parser, one table, and the page that shows it."""

import re
from pathlib import Path

import pytest

from cunumpy import _environment
from cunumpy.errors import CuNumpyError, SettingError

FLAGS = [
    name
    for name, variable in _environment.VARIABLES.items()
    if not variable.choices and variable.least is None and not variable.folder
]
PAGE = Path(__file__).parents[2] / "docs" / "environment.md"


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("word", ["1", "true", "yes", "on", "TRUE", " Yes\t", "On "])
def test_words_that_turn_a_flag_on(monkeypatch, name, word):
    monkeypatch.setenv(name, word)
    assert _environment.read(name) is True


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("word", ["0", "false", "no", "off", "False", " NO ", "\toff"])
def test_words_that_turn_a_flag_off(monkeypatch, name, word):
    monkeypatch.setenv(name, word)
    assert _environment.read(name) is False


@pytest.mark.parametrize("text", [None, "", "   "])
def test_unset_and_empty_give_the_default(monkeypatch, text):
    for name in _environment.VARIABLES:
        monkeypatch.delenv(name, raising=False)
        if text is not None:
            monkeypatch.setenv(name, text)
    defaults = {name: _environment.read(name) for name in _environment.VARIABLES}
    assert defaults["CUNUMPY_BACKEND"] == "numpy"
    assert defaults["CUNUMPY_STRICT"] is False
    assert defaults["CUNUMPY_FAKE_CUPY"] is False
    assert defaults["MAYBEMPI"] is None


@pytest.mark.parametrize(("text", "value"), [("cupy", "cupy"), (" CuPy ", "cupy"), ("NUMPY", "numpy")])
def test_a_choice_ignores_case_and_blanks(monkeypatch, text, value):
    monkeypatch.setenv("CUNUMPY_BACKEND", text)
    assert _environment.read("CUNUMPY_BACKEND") == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("/somewhere/Else", "/somewhere/Else"), (" ~/builds ", "~/builds"), ("OFF", False), ("0", False)],
)
def test_a_folder_keeps_its_case_and_may_be_turned_off(monkeypatch, text, value):
    monkeypatch.setenv("CUNUMPY_EMULATION_CACHE", text)
    assert _environment.read("CUNUMPY_EMULATION_CACHE") == value


def test_the_environment_is_read_at_each_call(monkeypatch):
    monkeypatch.setenv("CUNUMPY_STRICT", "1")
    assert _environment.read("CUNUMPY_STRICT") is True
    monkeypatch.setenv("CUNUMPY_STRICT", "0")
    assert _environment.read("CUNUMPY_STRICT") is False


def test_an_unknown_choice_names_variable_value_and_choices(monkeypatch):
    monkeypatch.setenv("CUNUMPY_BACKEND", " cuda")
    with pytest.raises(SettingError, match=r"CUNUMPY_BACKEND=' cuda' .* expected 'numpy' or 'cupy'"):
        _environment.read("CUNUMPY_BACKEND")


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("text", ["2", "y", "maybe", "1 0", "nul"])
def test_an_unknown_word_names_variable_value_and_words(monkeypatch, name, text):
    monkeypatch.setenv(name, text)
    with pytest.raises(
        SettingError, match=rf"{name}='{text}' .* expected 1, true, yes, on; 0, false, no, off .*Unset it"
    ) as caught:
        _environment.read(name)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, CuNumpyError)


@pytest.mark.parametrize(("text", "value"), [("1", 1), (" 12\t", 12)])
def test_a_number_ignores_blanks(monkeypatch, text, value):
    monkeypatch.setenv("CUNUMPY_NUM_THREADS", text)
    assert _environment.read("CUNUMPY_NUM_THREADS") == value


@pytest.mark.parametrize("text", ["0", "-1", "2.0", "two", "1e3", "²"])
def test_a_number_that_is_none_names_variable_value_and_the_least(monkeypatch, text):
    monkeypatch.setenv("CUNUMPY_NUM_THREADS", text)
    with pytest.raises(SettingError, match=rf"CUNUMPY_NUM_THREADS='{text}' .* expected a whole number from 1 on"):
        _environment.read("CUNUMPY_NUM_THREADS")


def test_settings_lists_what_is_set_and_what_is_wrong(monkeypatch):
    for name in _environment.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert _environment.settings() == {}
    monkeypatch.setenv("CUNUMPY_STRICT", " Yes")
    monkeypatch.setenv("CUNUMPY_BACKEND", "jax")
    found = _environment.settings()
    assert found["CUNUMPY_STRICT"] == {"text": " Yes", "value": True}
    assert "'jax'" in str(found["CUNUMPY_BACKEND"]["error"])
    assert set(found) == {"CUNUMPY_STRICT", "CUNUMPY_BACKEND"}


def test_names_that_look_like_slips_are_found():
    environ = {
        "CUNUMPY_BACKND": "cupy",
        "CUNUMPY_FAKE_CUPY": "1",
        "cunumpy_backend": "cupy",
        "CUNUMPY_SOMETHING_ELSE": "1",
        "NUMPY_BACKEND": "x",
    }
    assert _environment.unknown_variables(environ) == {
        "CUNUMPY_BACKND": "CUNUMPY_BACKEND",
        "CUNUMPY_SOMETHING_ELSE": None,
        "cunumpy_backend": "CUNUMPY_BACKEND",
    }


def test_the_page_shows_the_table():
    page = PAGE.read_text(encoding="utf-8")
    assert _environment.markdown_table() in page
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(_environment.VARIABLES)
