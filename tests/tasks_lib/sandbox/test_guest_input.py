"""Input on paper: chords, key names, typed characters, and the closed union of actions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tasks_lib.sandbox.guest import keyboard
from tasks_lib.sandbox.guest._keynames import KEY_NAMES, SIGNS
from tasks_lib.sandbox.guest.actions import ACTION
from tasks_lib.sandbox.guest.faults import RefusedError


@pytest.mark.parametrize(
    ("chord", "parts"),
    [
        ("a", ["a"]),
        ("+", ["+"]),
        ("ctrl+o", ["ctrl", "o"]),
        ("ctrl + shift + S", ["ctrl", "shift", "S"]),
        ("ctrl++", ["ctrl", "plus"]),
        ("ctrl+plus", ["ctrl", "plus"]),
        ("alt+F4", ["alt", "F4"]),
        (" ", [" "]),
    ],
)
def test_chords(chord: str, parts: list[str]) -> None:
    assert keyboard.split_chord(chord) == parts


@pytest.mark.parametrize("chord", ["", "ctrl+", "+a", "a++b", "ctrl+   +x"])
def test_malformed_chords_are_refused(chord: str) -> None:
    with pytest.raises(RefusedError, match=r"keyboard\.press"):
        keyboard.split_chord(chord)


def test_every_key_name_is_a_key() -> None:
    assert all(keyboard._keysym_of_name(name, "x+y") for name in KEY_NAMES)
    with pytest.raises(RefusedError, match="no key is called 'hyper9'"):
        keyboard._keysym_of_name("hyper9", "hyper9")


@given(st.characters())
def test_a_character_has_a_keysym_or_is_refused(character: str) -> None:
    code = ord(character)
    if character in "\n\t":
        assert keyboard._keysym_of_character(character) > 0xFF00
    elif code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code <= 0xDFFF:
        with pytest.raises(RefusedError, match="control character"):
            keyboard._keysym_of_character(character)
    else:
        sym = keyboard._keysym_of_character(character)
        assert sym == code if code < 0x100 else sym - 0x0100_0000 == code


def test_signs_are_distinct() -> None:
    assert len(set(SIGNS)) == len(SIGNS)


@pytest.mark.parametrize(
    "body",
    [
        "{}",
        '{"kind": "exec", "text": "import os"}',
        '{"kind": "move", "x": 1}',
        '{"kind": "move", "x": "left", "y": 2}',
        '{"kind": "move", "x": 1.5, "y": 2}',
        '{"kind": "move", "x": 1, "y": 2, "z": 3}',
        '{"kind": "scroll", "direction": "sideways"}',
        '{"kind": "scroll", "direction": "up", "notches": 1000000}',
        '{"kind": "launch", "program": ""}',
        '{"kind": "write"}',
        "[1, 2]",
        "not json",
        '{"kind": "write", "text": NaN}',
    ],
)
def test_what_is_no_action_is_refused(body: str) -> None:
    with pytest.raises(ValidationError):
        ACTION.validate_json(body)


def test_an_action_is_read() -> None:
    action = ACTION.validate_json('{"kind": "launch", "program": "fityk", "arguments": ["-I"]}')
    assert action.model_dump() == {"kind": "launch", "program": "fityk", "arguments": ("-I",)}
