"""Each capability tried by a real call to a scripted endpoint, and each of them failing by itself."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from tasks_lib.evaluation.ocr import read_screen
from tasks_lib.models import Canned, ChatFace, Fault, FaultKind, ImageSettings, ModelSettings, ScriptedEndpoint
from tasks_lib.models.capabilities import Capability, claimed, examine, picture_of
from tasks_lib.models.settings import load_models

NUMBER = 4711
TEXT, STREAM, IMAGE, TOOLS = Capability
READY, SEEN = Canned("Ready."), Canned(f"It shows {NUMBER}.")
CALLED = Canned("", calls=(("report", f'{{"number": {NUMBER}}}'),))
BLIND = ImageSettings(enabled=False)
PAGE = Path(__file__).parents[3] / "docs" / "models.md"


class _InOnePiece(ChatFace):
    """An endpoint that knows nothing of streams."""

    def streams(self, request, path):
        return False


@pytest.fixture(scope="module")
def endpoint():
    with ScriptedEndpoint() as found:
        yield found


def tried(session, wanted=tuple(Capability), **changes):
    findings = examine(
        "m", session.settings(**changes), wanted, api_key=session.token, environ={}, number=NUMBER, sleep=lambda _: None
    )
    return {finding.capability: finding for finding in findings}


def works(findings):
    return {capability: finding.works for capability, finding in findings.items()}


def test_a_model_that_can_do_all_is_asked_once_for_each(endpoint) -> None:
    session = endpoint.open([READY, SEEN, CALLED])
    found = tried(session)
    assert works(found) == {TEXT: True, STREAM: True, IMAGE: True, TOOLS: True}
    assert list(found) == [TEXT, STREAM, IMAGE, TOOLS]
    assert "Ready." in found[TEXT].said
    assert found[TOOLS].said == "called report"
    for capability in (TEXT, IMAGE, TOOLS):
        assert found[capability].usage.input_tokens > 0
        assert found[capability].seconds > 0
    text, image, tools = session.requests
    assert all(request["stream"] is True for request in session.requests)
    assert [part["type"] for part in image["messages"][0]["content"]] == ["text", "image_url"]
    assert "tools" not in text
    assert [tool["function"]["name"] for tool in tools["tools"]] == ["report"]


def test_usage_that_is_not_reported_stays_unknown(endpoint) -> None:
    found = tried(endpoint.open([Canned("Ready.", usage=False)]), [TEXT])
    assert found[TEXT].works
    assert (found[TEXT].usage.input_tokens, found[TEXT].usage.output_tokens) == (None, None)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Canned(" \n"), "empty reply"),
        (Canned("", reasoning="hm", finish_reason="length"), "after thinking"),
        (Canned("", refusal="I will not."), "the model refused: 'I will not.'"),
    ],
)
def test_text_fails_by_itself(endpoint, reply, said) -> None:
    found = tried(endpoint.open([reply, SEEN, CALLED]))
    assert works(found) == {TEXT: False, STREAM: True, IMAGE: True, TOOLS: True}
    assert said in found[TEXT].said


def test_streaming_fails_by_itself() -> None:
    with ScriptedEndpoint(_InOnePiece()) as endpoint:
        found = tried(endpoint.open([READY, SEEN, CALLED]))
    assert works(found) == {TEXT: True, STREAM: False, IMAGE: True, TOOLS: True}
    assert "one piece" in found[STREAM].said


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Canned("I see no picture."), "did not read the number 4711"),
        (Fault(FaultKind.STATUS, status=400, body="image_url is not supported"), "image_url is not supported"),
    ],
)
def test_an_image_fails_by_itself(endpoint, reply, said) -> None:
    found = tried(endpoint.open([READY, reply, CALLED]))
    assert works(found) == {TEXT: True, STREAM: True, IMAGE: False, TOOLS: True}
    assert said in found[IMAGE].said


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Canned(f"report({NUMBER})"), "no call came"),
        (Canned("", calls=(("report", '{"number": 47'),)), "cannot be read"),
        (Canned("", calls=(("report", '{"number": 4712}'),)), "it called report"),
        (Canned("", calls=(("rm", f'{{"number": {NUMBER}}}'),)), "it called rm"),
        (Fault(FaultKind.STATUS, status=400, body="tool choice needs a parser"), "tool choice needs a parser"),
    ],
)
def test_a_tool_call_fails_by_itself(endpoint, reply, said) -> None:
    found = tried(endpoint.open([READY, SEEN, reply]))
    assert works(found) == {TEXT: True, STREAM: True, IMAGE: True, TOOLS: False}
    assert said in found[TOOLS].said


def test_an_endpoint_that_refuses_is_asked_once_and_its_key_is_not_repeated(endpoint) -> None:
    session = endpoint.open([])
    body = f"the key {session.token} is unknown"
    session.queue.append(Fault(FaultKind.STATUS, status=403, body=body))
    found = tried(session)
    assert works(found) == {TEXT: False, STREAM: None, IMAGE: None, TOOLS: None}
    assert "403" in found[TEXT].said
    assert session.token not in str(found)
    assert len(session.requests) == 1


def test_a_fault_that_passes_is_tried_again_and_one_that_stays_is_not_tried_for_long(endpoint) -> None:
    overloaded = Fault(FaultKind.STATUS, status=503)
    assert works(tried(endpoint.open([overloaded, READY]), [TEXT])) == {TEXT: True}
    session = endpoint.open([overloaded] * 5)
    assert works(tried(session, [TEXT])) == {TEXT: False}
    assert len(session.requests) == 2


def test_nobody_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        settings = ModelSettings(base_url=f"http://127.0.0.1:{free.getsockname()[1]}/v1", model="x")
        (text, tools) = examine("m", settings, [TOOLS], environ={}, sleep=lambda _: None)
    assert (text.works, tools.works) == (False, None)
    assert "cannot connect" in text.said


def test_what_the_settings_rule_out_is_not_tried(endpoint) -> None:
    session = endpoint.open([READY, CALLED])
    found = tried(session, image=BLIND, stream=False)
    assert works(found) == {TEXT: True, STREAM: None, IMAGE: None, TOOLS: True}
    assert len(session.requests) == 2


def test_a_missing_key_is_found_and_raises_nothing() -> None:
    settings = ModelSettings(base_url="http://127.0.0.1:9/v1", model="x", api_key_env="NOT_THERE")
    (text,) = examine("m", settings, environ={})
    assert text.works is False
    assert "NOT_THERE" in text.said


def test_what_is_claimed_follows_the_settings() -> None:
    sees = ModelSettings(base_url="http://127.0.0.1:9/v1", model="x")
    assert claimed(sees) == {TEXT, IMAGE}
    assert claimed(sees, tools=True) == {TEXT, IMAGE, TOOLS}
    assert claimed(sees.model_copy(update={"image": BLIND})) == {TEXT}


def test_the_number_can_be_read_in_its_picture() -> None:
    assert [line.text for line in read_screen(picture_of(NUMBER))] == [str(NUMBER)]


def test_the_tables_of_the_page_are_settings_as_they_stand(tmp_path: Path) -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    path = tmp_path / "matassay.toml"
    models = {}
    for block in blocks:
        path.write_text(block, encoding="utf-8")
        models |= load_models(path)
    assert {
        "openai", "openai-responses", "claude", "gemini", "openrouter", "dashscope", "moonshot", "ark", "groq", "vllm",
        "sglang", "ollama",
    } <= set(models)  # fmt: skip
    assert {model.provider for model in models.values()} == {"openai", "openai-responses", "anthropic", "gemini"}


@pytest.mark.parametrize("record", [ModelSettings, ImageSettings])
def test_the_page_tells_every_setting(record) -> None:
    told = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert set(record.model_fields) <= told
