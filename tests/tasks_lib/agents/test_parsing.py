from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.agents import parse_reply, reply_problems
from tasks_lib.agents.parsing import LONGEST_MEMORY, LONGEST_REPLY, LONGEST_SCRIPT
from tasks_lib.records import Decision, Modality

CLICK = "```python\ncomputer.mouse.single_click()\n```"


def decision(word):
    return f"```decision\n{word}\n```"


def test_actions_with_notes():
    parsed = parse_reply(f"I click.\n{CLICK}\n```memory\nfile is open\n```", Modality.GUI)
    assert [action.kind for action in parsed.actions] == ["mouse.single_click"]
    assert (parsed.decision, parsed.memory, parsed.problems) == (Decision.CONTINUE, "file is open", ())
    assert parsed.block == "computer.mouse.single_click()"


def test_a_python_block_of_a_code_stage_is_a_script_whatever_it_holds():
    parsed = parse_reply("```python\nimport os\nprint(1)\n```", Modality.CODE)
    assert parsed.script is not None
    assert (parsed.script.kind, parsed.script.text) == ("python", "import os\nprint(1)\n")
    assert parsed.actions == ()


def test_a_figure_stage_takes_a_document_or_actions_not_both():
    document = "```veusz\nAdd('page')\n```"
    assert parse_reply(document, Modality.FIGURE).script.kind == "veusz"
    assert parse_reply(CLICK, Modality.FIGURE).actions
    both = parse_reply(document + "\n" + CLICK, Modality.FIGURE)
    assert (both.actions, both.script) == ((), None)
    assert "not both" in both.problems[0]


def test_a_veusz_block_of_a_gui_stage_is_nothing():
    (problem,) = parse_reply("```veusz\nAdd('page')\n```", Modality.GUI).problems
    assert "blocks of veusz" in problem


@pytest.mark.parametrize(
    "text", ["", "I will now click.", "```\ncomputer.mouse.single_click()\n```", "```bash\nls\n```"]
)
@pytest.mark.parametrize("modality", [Modality.GUI, Modality.CODE, Modality.FIGURE, Modality.MIXED])
def test_no_block_is_a_problem_and_never_a_success(text, modality):
    parsed = parse_reply(text, modality)
    assert parsed.decision is Decision.CONTINUE
    assert "nothing that can be done" in parsed.problems[0]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("DONE", Decision.DONE),
        ("done.", Decision.DONE),
        ("**FAIL**", Decision.FAIL),
        ("WAIT", Decision.WAIT),
        ("WAIT DONE", Decision.DONE),
        ("wait, fail", Decision.FAIL),
        ("CONTINUE WAIT", Decision.WAIT),
        ("FAIL\nDONE\nWAIT", Decision.DONE),
    ],
)
def test_done_goes_before_fail_before_wait(body, wanted):
    parsed = parse_reply(decision(body), Modality.GUI)
    assert (parsed.decision, parsed.problems) == (wanted, ())


def test_decisions_of_several_blocks_are_taken_together():
    assert parse_reply(decision("WAIT") + "\n" + decision("FAIL"), Modality.GUI).decision is Decision.FAIL


@pytest.mark.parametrize("body", ["NOT DONE", "FINISHED", "I think we are DONE", "DONE?!", "完成"])
def test_an_unknown_word_is_no_decision(body):
    parsed = parse_reply(decision(body) + "\n" + CLICK, Modality.GUI)
    assert parsed.decision is Decision.CONTINUE
    assert "unknown decision" in parsed.problems[0]
    assert parsed.actions == ()


def test_an_empty_decision_is_a_problem():
    assert "empty" in parse_reply(decision(" ") + "\n" + CLICK, Modality.GUI).problems[0]


@pytest.mark.parametrize("word", ["DONE", "FAIL", "WAIT"])
def test_a_decision_overrides_the_block_and_says_so(word):
    parsed = parse_reply(CLICK + "\n" + decision(word), Modality.GUI)
    assert (parsed.decision.value, parsed.actions, parsed.problems) == (word, (), ())
    assert parsed.notes == (f"the python block was not done, because {word} overrides it",)


def test_continue_lets_the_block_be_done():
    assert parse_reply(CLICK + "\n" + decision("CONTINUE"), Modality.GUI).actions


def test_continue_alone_is_nothing_to_do():
    assert "nothing to do" in parse_reply(decision("CONTINUE"), Modality.GUI).problems[0]


def test_the_first_of_several_blocks_is_done_and_the_agent_is_told():
    parsed = parse_reply("```python\nprint(1)\n```\n```python\nprint(2)\n```", Modality.CODE)
    assert parsed.script.text == "print(1)\n"
    assert parsed.notes == ("only the first of 2 python blocks was done",)


@pytest.mark.parametrize("cut", ["```python\ncomputer.mouse.single_click()", CLICK + "\n```decision\nDO"])
def test_a_cut_reply_does_nothing(cut):
    parsed = parse_reply(cut, Modality.GUI)
    assert (parsed.actions, parsed.decision) == ((), Decision.CONTINUE)
    assert "never closed" in parsed.problems[0]


def test_a_bad_line_keeps_the_notes_and_does_nothing():
    parsed = parse_reply("```python\nx = 1\n```\n```memory\nm\n```", Modality.GUI)
    assert (parsed.actions, parsed.memory) == ((), "m")
    assert parsed.problems[-1] == "nothing of the block was done"


def test_an_empty_script_is_a_problem():
    assert parse_reply("```python\n\n```", Modality.CODE).problems == ("the python block is empty",)


def test_caps():
    assert "at most" in parse_reply("x" * (LONGEST_REPLY + 1), Modality.GUI).problems[0]
    long = f"```python\n#{'x' * LONGEST_SCRIPT}\n```"
    assert "at most" in parse_reply(long, Modality.CODE).problems[0]
    memory = parse_reply(f"```memory\n{'x' * 9000}\n```" + "\n" + CLICK, Modality.GUI).memory
    assert len(memory) == LONGEST_MEMORY


def test_for_a_transcript_what_is_left_aside_is_wrong():
    assert reply_problems(CLICK, Modality.GUI) == ()
    assert "overrides" in reply_problems(CLICK + "\n" + decision("DONE"), Modality.GUI)[0]
    assert "nothing that can be done" in reply_problems("Hello", Modality.CODE)[0]


BLOCKS = st.lists(
    st.tuples(
        st.sampled_from(["```", "````", "~~~", "``"]),
        st.sampled_from(["python", "decision", "memory", "veusz", "", "PYTHON x"]),
        st.one_of(st.text(max_size=60), st.sampled_from(["DONE", "computer.mouse.single_click()", "WAIT FAIL"])),
        st.booleans(),
    ),
    max_size=5,
)


@given(BLOCKS, st.sampled_from(Modality))
@settings(max_examples=400)
def test_any_reply_is_read(blocks, modality):
    text = "\n".join(f"{mark}{word}\n{body}\n{mark if closed else ''}" for mark, word, body, closed in blocks)
    parsed = parse_reply(text, modality)
    doing = [bool(parsed.actions), parsed.script is not None, parsed.decision is not Decision.CONTINUE]
    assert sum(doing) == (0 if parsed.problems else 1)


@given(st.text(), st.sampled_from(Modality))
def test_any_text_is_read(text, modality):
    parsed = parse_reply(text, modality)
    assert bool(parsed.problems) or parsed.decision is not Decision.CONTINUE or parsed.actions or parsed.script
