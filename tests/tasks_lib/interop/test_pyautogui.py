"""Calls of pyautogui said in ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.agents import read_actions
from tasks_lib.interop.pyautogui import translated
from tasks_lib.records.errors import ConfigurationError


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ("pyautogui.click(1, 2)", "computer.mouse.move_abs(1, 2)\ncomputer.mouse.single_click()"),
        ("pyautogui.click(x=1, y=2, clicks=2)", "computer.mouse.move_abs(1, 2)\ncomputer.mouse.double_click()"),
        ("pyautogui.click((1, 2), button='right')", "computer.mouse.move_abs(1, 2)\ncomputer.mouse.right_click()"),
        ("pyautogui.click()", "computer.mouse.single_click()"),
        ("pyautogui.moveTo(3, 4.5, duration=1)", "computer.mouse.move_abs(3, 4.5)"),
        ("pyautogui.dragTo(3, 4)", "computer.mouse.drag(3, 4)"),
        ("pyautogui.typewrite('it\\'s', interval=0.1)", 'computer.keyboard.write("it\'s")'),
        ("pyautogui.press('return')", "computer.keyboard.press('enter')"),
        ("pyautogui.press(['tab', 'tab'])", "computer.keyboard.press('tab')\ncomputer.keyboard.press('tab')"),
        ("pyautogui.hotkey('ctrl', 's')", "computer.keyboard.press('ctrl+s')"),
        ("import pyautogui, time\ntime.sleep(2)\npyautogui.scroll(-5)", 'computer.mouse.scroll("down")'),
        ("computer.mouse.single_click()", "computer.mouse.single_click()"),
    ],
)
def test_a_call_is_said_in_ours_and_can_be_done(action: str, said: str) -> None:
    assert translated(action, "here") == said
    actions, problems = read_actions(said)
    assert not problems
    assert actions


@pytest.mark.parametrize(
    "action",
    [
        "pyautogui.screenshot()",
        "import os\nos.system('pyautogui')",
        "pyautogui.click(open('/etc/passwd'))",
        "x = pyautogui.position()",
        "pyautogui.click(1, 2, clicks=10**9)",
        "pyautogui.press('a', presses=10**9)",
        "pyautogui.write(7)",
        "pyautogui.click('a', 'b')",
        "pyautogui.dragTo()",
        "pyautogui.(",
        "pyautogui.write(" + "(" * 5_000 + ")" * 5_000 + ")",
        "# pyautogui" + "x" * 30_000,
    ],
)
def test_what_has_no_counterpart_is_refused_with_its_place(action: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^here: "):
        translated(action, "here")


@given(st.text(max_size=200))
def test_any_text_is_said_or_refused(text: str) -> None:
    try:
        translated(f"pyautogui.write({text!r})\n{text}", "here")
    except ConfigurationError:
        return
