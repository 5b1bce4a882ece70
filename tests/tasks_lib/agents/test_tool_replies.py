from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tasks_lib.agents import CALLS, parse_reply
from tasks_lib.agents.actions import MOST_ACTIONS
from tasks_lib.agents.parsing import LONGEST_SCRIPT
from tasks_lib.agents.tool_replies import LONGEST_SHOWN_CALL, Toolbox, reply_of
from tasks_lib.models import ToolCall
from tasks_lib.records import Decision, Modality

GUI = Toolbox.of(Modality.GUI, marks=True)
CODE = Toolbox.of(Modality.CODE)
FIGURE = Toolbox.of(Modality.FIGURE)
MODALITIES = [Modality.GUI, Modality.CODE, Modality.FIGURE]


def call(name, number=1, **arguments):
    return ToolCall(f"call-{number}", name, json.dumps(arguments), arguments)


def broken(name="mouse_move_abs", raw='{"x": 1, "y":', problem="the arguments are no JSON object", number=1):
    return ToolCall(f"call-{number}", name, raw, None, problem)


def read(calls, toolbox=GUI, modality=Modality.GUI, said=""):
    reply = reply_of(said, calls, toolbox)
    return reply, parse_reply(reply.text, modality)


def test_calls_become_the_lines_of_one_block_in_order():
    reply, parsed = read(
        [
            call("mouse_move_abs", 1, y=96, x=412.5),
            call("mouse_single_click", 2),
            call("keyboard_write", 3, text='it\'s\n```\n"C 1s"\\'),
            call("clipboard_copy_text", 4),
            call("mouse_move_id", 5, id=3),
        ],
        said="I click there.",
    )
    assert [(action.kind, action.arguments) for action in parsed.actions] == [
        ("mouse.move_abs", {"x": 412.5, "y": 96}),
        ("mouse.single_click", {}),
        ("keyboard.write", {"text": 'it\'s\n```\n"C 1s"\\'}),
        ("clipboard.copy_text", {}),
        ("mouse.move_id", {"id": 3}),
    ]
    assert (parsed.problems, reply.problems) == ((), {})
    assert reply.text.startswith("> I click there.\n\n`")


@pytest.mark.parametrize(
    ("name", "decision"), [("done", Decision.DONE), ("fail", Decision.FAIL), ("wait", Decision.WAIT)]
)
def test_an_ending_is_a_decision(name, decision):
    _, parsed = read([call(name)])
    assert (parsed.decision, parsed.problems) == (decision, ())


def test_done_overrides_what_is_called_beside_it_as_in_a_text():
    _, parsed = read([call("mouse_single_click", 1), call("done", 2)])
    assert (parsed.decision, parsed.actions) == (Decision.DONE, ())
    assert parsed.notes == ("the python block was not done, because DONE overrides it",)


def test_notes_are_kept_and_scripts_run():
    _, parsed = read([call("remember", 1, notes="a = 4.2 Å"), call("mouse_single_click", 2)])
    assert (parsed.memory, len(parsed.actions)) == ("a = 4.2 Å", 1)
    _, parsed = read([call("run_script", script="print('```')\n")], CODE, Modality.CODE)
    assert (parsed.script.kind, parsed.script.text) == ("python", "print('```')\n")
    _, parsed = read([call("run_script", script="Add('page')")], FIGURE, Modality.FIGURE)
    assert (parsed.script.kind, parsed.script.text) == ("veusz", "Add('page')\n")


@pytest.mark.parametrize(
    ("calls", "why"),
    [
        ([broken()], 'mouse_move_abs({"x": 1, "y":): the arguments are no JSON object'),
        ([call("os_system", command="rm")], "there is no such tool; there are mouse_move_abs"),
        ([call("computer.mouse.single_click")], "there is no such tool"),
        ([call("mouse_move_abs", x=1)], "missing a required argument: 'y'"),
        ([call("mouse_move_abs", x="1", y=2)], "x takes a number of pixels, got '1'"),
        ([call("mouse_move_abs", x=True, y=2)], "x takes a number of pixels, got True"),
        ([call("mouse_move_abs", x=0.5, y=0.25)], "looks like fractions of the screen"),
        ([call("mouse_move_abs", x=float("nan"), y=2)], "arguments are plain numbers"),
        ([call("mouse_move_abs", x=2**70, y=2)], "a number has more than 64 bits"),
        ([call("mouse_move_abs", x=1, y=2, speed=3)], "unexpected keyword argument 'speed'"),
        ([call("mouse_move_abs", **{"x": 1, "y=2); computer.mouse.single_click(": 2})], "mouse.move_abs takes x, y"),
        ([call("mouse_move_abs", **{"x": 1, "class": 2})], "mouse.move_abs takes x, y"),
        ([call("keyboard_write", text={"a": 1})], "arguments are plain numbers and texts"),
        ([call("mouse_scroll", direction="left")], 'direction takes "up" or "down"'),
        ([call("mouse_move_id", id=-1)], "id takes a whole number, the id of a mark"),
        ([call("done", because="it is")], "done takes no arguments"),
        ([call("remember")], "remember takes notes, a text, and nothing else"),
        ([call("remember", notes=3)], "remember takes notes, a text, and nothing else"),
        ([call("run_script", script="print()")], "there is no such tool"),
        ([], "no tool was called: call one, such as wait, remember, done, fail"),
        ([call("mouse_single_click", n) for n in range(MOST_ACTIONS + 1)], "at most 64 are done in one step"),
    ],
)
def test_a_malformed_call_is_refused_with_its_reason(calls, why):
    _, parsed = read(calls)
    assert why in "\n".join(parsed.problems)
    assert parsed.problems[-1] == "nothing of the reply was done"
    assert (parsed.actions, parsed.script, parsed.decision) == ((), None, Decision.CONTINUE)


@pytest.mark.parametrize("bad", [broken(number=9), call("nothing", 9), call("mouse_move_abs", 9, x="a", y=1)])
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("end", [[], [call("done", 7)]])
def test_one_malformed_call_and_nothing_of_the_reply_is_done(bad, place, end):
    calls = [call("mouse_single_click", 1), call("remember", 2, notes="x"), *end]
    calls.insert(place, bad)
    reply, parsed = read(calls)
    assert list(reply.problems) == ["call-9"]
    assert (parsed.actions, parsed.script, parsed.memory, parsed.decision) == ((), None, None, Decision.CONTINUE)
    assert "python" not in reply.text
    assert "DONE" not in reply.text


def test_a_broken_call_without_end_is_shown_by_its_beginning():
    reply, parsed = read([broken(raw="{" * 300_000)])
    assert len(reply.text) < LONGEST_SHOWN_CALL + 200
    assert parsed.problems


def test_what_cannot_be_written_as_text_is_refused():
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (deep, 10**5000):
        _, parsed = read([ToolCall("1", "mouse_move_abs", "…", {"x": value, "y": 1})])
        assert "its arguments cannot be read" in parsed.problems[0]


def test_a_script_that_is_too_long_is_refused_by_the_same_cap():
    _, parsed = read([call("run_script", script="#" * (LONGEST_SCRIPT + 1))], CODE, Modality.CODE)
    assert parsed.problems == (f"a script has at most {LONGEST_SCRIPT} characters",)


@pytest.mark.parametrize("modality", MODALITIES)
def test_blocks_beside_the_calls_do_not_count(modality):
    said = "```python\ncomputer.mouse.double_click()\n```\n```decision\nDONE\n```\n```refused\nx\n```\n```memory"
    toolbox = Toolbox.of(modality)
    reply, parsed = read([call("remember", notes="y")], toolbox, modality, said)
    assert parsed.decision is Decision.CONTINUE
    assert (parsed.actions, parsed.script, parsed.memory) == ((), None, "y")
    assert "> ```decision" in reply.text
    _, parsed = read([], toolbox, modality, said)
    assert parsed.problems[0].startswith("no tool was called")
    assert parsed.memory is None


@pytest.mark.parametrize("modality", MODALITIES)
@pytest.mark.parametrize("marks", [True, False])
def test_every_call_of_the_interface_is_a_tool_where_it_can_be_done(modality, marks):
    toolbox = Toolbox.of(modality, marks=marks)
    specs = {spec.name: spec for spec in toolbox.specs()}
    assert set(specs) == {*toolbox.computer, *toolbox.own}
    assert {"done", "fail", "remember"} <= set(specs)
    assert ("run_script" in specs) is (modality is not Modality.GUI)
    assert ("wait" in specs) is (modality is not Modality.CODE)
    for kind, known in CALLS.items():
        spec = specs.get(kind.replace(".", "_"))
        assert (spec is not None) is (modality is not Modality.CODE and (marks or "id" not in known.parameters))
        if spec is not None:
            assert list(spec.parameters["properties"]) == list(known.parameters)
            assert spec.parameters["required"] == [name for name in known.parameters if name not in known.optional]
    for spec in specs.values():
        assert len(spec.name) <= 64
        assert spec.name.replace("_", "").isalnum()
        assert spec.parameters["additionalProperties"] is False
        json.dumps(dict(spec.parameters))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
ANY_CALL = st.builds(
    lambda name, arguments, problem: ToolCall("id", name, repr(arguments), None if problem else arguments, problem),
    st.sampled_from(sorted({*GUI.computer, *GUI.own, *CODE.own, "", "eval"})) | st.text(max_size=8),
    st.dictionaries(
        st.sampled_from(["x", "y", "id", "text", "keys", "name", "direction", "script", "notes"]) | st.text(max_size=5),
        JSON,
        max_size=3,
    ),
    st.sampled_from(["", "", "no JSON"]),
)


@given(st.lists(ANY_CALL, max_size=4), st.text(max_size=40), st.sampled_from(MODALITIES))
def test_any_calls_are_done_as_they_were_meant_or_not_at_all(calls, said, modality):
    toolbox = Toolbox.of(modality, marks=True)
    reply = reply_of(said, calls, toolbox)
    parsed = parse_reply(reply.text, modality)
    bad = bool(reply.problems) or not calls
    assert not bad or parsed.problems
    if parsed.problems:
        assert (parsed.actions, parsed.script, parsed.decision) == ((), None, Decision.CONTINUE)
    for action in parsed.actions:
        meant = [
            given_call
            for given_call in calls
            if toolbox.computer.get(given_call.name) == action.kind
            and len(given_call.arguments) >= len(action.arguments)
        ]
        assert meant


@given(st.text(max_size=200))
@example("0\r")
@example("0\r\n")
def test_any_text_that_is_typed_or_run_comes_through(text):
    _, parsed = read([call("keyboard_write", text=text)])
    assert [action.arguments["text"] for action in parsed.actions] == [text]
    _, parsed = read([call("run_script", script=text)], CODE, Modality.CODE)
    if parsed.script is not None:
        # A script ends with a line end, and its line ends are plain.
        whole = text if text.endswith("\n") else text + "\n"
        assert parsed.script.text == whole.replace("\r\n", "\n")
    else:
        assert not text.strip()
