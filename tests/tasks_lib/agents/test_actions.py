from __future__ import annotations

import ast
import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks_lib.agents.actions import CALLS, LONGEST_BLOCK, MOST_ACTIONS, describe, read_actions

GOOD = [
    ("computer.mouse.move_abs(120, 40)", "mouse.move_abs", {"x": 120, "y": 40}),
    ("computer.mouse.move_abs(y=40, x=120.5)", "mouse.move_abs", {"x": 120.5, "y": 40}),
    ("computer.mouse.move_abs(-5, +3)", "mouse.move_abs", {"x": -5, "y": 3}),
    ("computer.mouse.move_id(7)", "mouse.move_id", {"id": 7}),
    ("computer.mouse.single_click()", "mouse.single_click", {}),
    ('computer.mouse.scroll("down")', "mouse.scroll", {"direction": "down"}),
    ("computer.mouse.drag(1, 2)", "mouse.drag", {"x": 1, "y": 2}),
    ('computer.keyboard.write("Si 2p\\n")', "keyboard.write", {"text": "Si 2p\n"}),
    ("computer.keyboard.write('a' 'b')", "keyboard.write", {"text": "ab"}),
    ('computer.keyboard.press("ctrl+o")', "keyboard.press", {"keys": "ctrl+o"}),
    ("computer.clipboard.copy_text()", "clipboard.copy_text", {}),
    ('computer.clipboard.copy_text(text="…")', "clipboard.copy_text", {"text": "…"}),
    ("computer.clipboard.copy_text(None)", "clipboard.copy_text", {"text": None}),
    ('computer.clipboard.copy_image(3, description="plot")', "clipboard.copy_image", {"id": 3, "description": "plot"}),
    ('computer.os.open_program("fityk")', "os.open_program", {"name": "fityk"}),
    ("computer.os.maximize_window()", "os.maximize_window", {}),
    ("computer.os.maximize_window(window_id=41943045)", "os.maximize_window", {"window_id": 41943045}),
    (
        'computer.window_manager.switch_to_application("Veusz")',
        "window_manager.switch_to_application",
        {"name": "Veusz"},
    ),
]
BAD = [
    ('computer.os.open_program("sh", "-c", "cp a b")', "too many positional"),
    ("computer.mouse.move_abs(3)", "missing a required argument"),
    ("computer.mouse.move_abs(1, 2, 3)", "too many positional"),
    ("computer.mouse.move_abs(1, 2, z=3)", "unexpected keyword"),
    ("computer.mouse.move_abs(*[1, 2])", "no names"),
    ("computer.mouse.move_abs(**{'x': 1, 'y': 2})", "written out"),
    ("computer.mouse.move_abs('1', 2)", "x takes a number of pixels, got '1'"),
    ("computer.mouse.move_abs(True, 2)", "x takes a number"),
    ("computer.mouse.move_abs([1], 2)", r"x takes a number of pixels, got \[1\]"),
    ("computer.mouse.move_abs(1e999, 2)", "x takes a number"),
    ("computer.mouse.move_abs(0.5, 0.25)", "fractions"),
    ("computer.mouse.move_abs(1 + 1, 2)", "no arithmetic"),
    ("computer.mouse.move_abs(x, 2)", "no names"),
    ("computer.mouse.move_abs(1j, 2)", "plain numbers"),
    ("computer.mouse.move_abs(~1, 2)", "no arithmetic"),
    ("computer.mouse.move_abs(-'a', 2)", "plain numbers"),
    ("computer.mouse.move_abs(0x" + "f" * 5000 + ", 2)", "more than 64 bits"),
    ("computer.mouse.move_id(-1)", "id of a mark"),
    ("computer.mouse.move_id(1.0)", "id of a mark"),
    ('computer.mouse.scroll("left")', 'takes "up" or "down"'),
    ("computer.keyboard.write(b'x')", "texts in quotes"),
    ('computer.keyboard.write(f"{1}")', "no f-strings"),
    ('computer.keyboard.write("a" * 9)', "no arithmetic"),
    ('computer.keyboard.write("%s" % 1)', "no arithmetic"),
    ("computer.keyboard.write(open('/etc/passwd').read())", "plain numbers"),
    ("computer.keyboard.write([c for c in 'ab'])", "plain numbers"),
    ("computer.keyboard.write((lambda: 'a')())", "plain numbers"),
    ("computer.mouse.__class__()", "there is no computer.mouse.__class__"),
    ("computer.mouse.single_click.__call__()", "there is no"),
    ("computer.set_marks({})", "there is no computer.set_marks"),
    ("computer.run_script('import os')", "there is no computer.run_script"),
    ("computer.put_file('a', 'b')", "there is no computer.put_file"),
    ("computer()", "there is no computer;"),
    ("computers.mouse.single_click()", "there is no computers.mouse.single_click"),
    ("mouse.single_click()", "there is no mouse.single_click"),
    ("__import__('os').system('id')", "only calls of `computer`"),
    ("(computer).mouse['single_click']()", "only calls of `computer`"),
    ("getattr(computer, 'mouse').single_click()", "only calls of `computer`"),
    ("computer.mouse.single_click", "only calls of `computer`"),
    ("x = computer.mouse.single_click()", "no assignments"),
    ("import time", "nothing can be imported"),
    ("from os import system", "nothing can be imported"),
    ("for i in range(3):\n    computer.mouse.single_click()", "no assignments, loops"),
    ("while True: pass", "no assignments, loops"),
    ("def f(): pass", "no assignments, loops"),
    ("await computer.mouse.single_click()", "only calls"),
    ("computer.mouse.single_click() if True else 0", "only calls"),
    ("pass", "only calls"),
    ("computer.mouse.single_click(", "not readable"),
    ("'''", "not readable"),
    ("  computer.mouse.single_click()\n computer.mouse.single_click()", "not readable"),
    ("computer.mouse.move_abs(" + "9" * 6000 + ", 1)", "not readable"),
    ("a\0b", "not readable"),
    ("", "no action"),
    ("# only a comment", "no action"),
    ("x" * (LONGEST_BLOCK + 1), "at most 20000"),
    ("computer.mouse.single_click()\n" * (MOST_ACTIONS + 1), "at most 64 are done"),
]


@pytest.mark.parametrize(("text", "kind", "arguments"), GOOD, ids=[text for text, _, _ in GOOD])
def test_a_call_of_the_interface_is_read(text, kind, arguments):
    (action,), problems = read_actions(text)
    assert problems == ()
    assert (action.text, action.kind, action.arguments, action.line) == (text, kind, arguments, 1)


@pytest.mark.parametrize(("text", "why"), BAD, ids=[text[:60] for text, _ in BAD])
def test_anything_else_is_refused_with_its_reason(text, why):
    actions, problems = read_actions(text)
    assert actions == ()
    assert problems
    with pytest.raises(AssertionError, match=why):
        raise AssertionError("\n".join(problems))


def test_one_bad_line_refuses_the_whole_block_and_names_the_line():
    actions, problems = read_actions("computer.mouse.single_click()\n\nimport os\ncomputer.mouse.single_click()")
    assert actions == ()
    assert problems == (
        "line 3 of the python block: nothing can be imported; only calls of `computer` are done (to wait, answer WAIT)",
    )


def test_comments_blank_lines_and_semicolons_are_fine():
    actions, problems = read_actions("# open\ncomputer.mouse.single_click(); computer.mouse.right_click()  # menu\n")
    assert problems == ()
    assert [(action.kind, action.line) for action in actions] == [("mouse.single_click", 2), ("mouse.right_click", 2)]


def test_lone_surrogates_become_replacement_characters():
    (action,), _ = read_actions('computer.keyboard.write("\ud800 \\ud800")')
    assert action.arguments == {"text": "\ufffd \ufffd"}
    action.text.encode("utf-8")


BOMBS = {
    "brackets": "computer.keyboard.write(" + "[" * 9000 + "]" * 9000 + ")",
    "open brackets": "(" * 19_000,
    "signs": "computer.mouse.move_abs(" + "-" * 19_000 + "1, 2)",
    "nots": "not " * 4900 + "1",
    "attributes": "a" + ".b" * 9000 + "()",
    "sum": "+".join(["1"] * 9000),
    "lambdas": "lambda:" * 2500 + "0",
    "conditionals": "1 if 1 else " * 1500 + "1",
    "indents": "\n".join(" " * depth + "if 1:" for depth in range(190)),
    "calls": "f(" * 9000,
    "string of brackets": f"computer.keyboard.write({'(' * 9000!r})",
}


def test_bombs_end_in_a_problem_or_a_harmless_text_and_leave_the_process_alive():
    # In a process of its own: a crash of the parser would take the test run along.
    code = (
        "import json, sys\n"
        "from tasks_lib.agents.actions import read_actions\n"
        "for name, text in json.load(sys.stdin).items():\n"
        "    print(name, len(read_actions(text)[0]))\n"
    )
    import json

    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(BOMBS), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    counts = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    assert counts == {name: "1" if name == "string of brackets" else "0" for name in BOMBS}


LITERALS = st.one_of(
    st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=20), st.none(), st.booleans(), st.binary(max_size=4),
    st.lists(st.integers(), max_size=3),
)  # fmt: skip


@given(st.sampled_from(sorted(CALLS)), st.lists(LITERALS, max_size=3))
def test_calls_with_any_literals_are_read_or_refused(kind, values):
    actions, problems = read_actions(f"computer.{kind}({', '.join(map(repr, values))})")
    assert bool(actions) != bool(problems)
    for action in actions:
        assert set(action.arguments) <= {*CALLS[kind].parameters, "arguments"}


@given(st.text())
@example("computer.mouse.single_click()\x0c")
@example("\ufeffcomputer.mouse.single_click()")
@settings(max_examples=300)
def test_any_text_gives_actions_or_problems(text):
    actions, problems = read_actions(text)
    assert bool(actions) != bool(problems)


@given(st.text(st.sampled_from("computer.mouse()\"'[]{}:-+*,= \n\t\\#ft0x19e"), max_size=200))
@settings(max_examples=500)
def test_marks_of_python_in_any_order_give_actions_or_problems(text):
    actions, problems = read_actions(text)
    assert bool(actions) != bool(problems)


@pytest.mark.parametrize("kind", sorted(CALLS))
def test_every_call_is_described_as_a_call_that_python_can_read(kind):
    assert describe(kind).startswith(f"computer.{kind}(")
    ast.parse(describe(kind))
