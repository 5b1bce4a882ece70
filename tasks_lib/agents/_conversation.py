"""The conversation with a model over the steps of a stage: what of it each request holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tasks_lib.agents.actions import MOST_ACTIONS
from tasks_lib.agents.parsing import LONGEST_REPLY
from tasks_lib.agents.settings import AgentSettings
from tasks_lib.models import (
    Completion,
    ImagePart,
    Message,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

# Rules of thumb, until the endpoint has said how many tokens a request had.
CHARACTERS_PER_TOKEN = 4
TOKENS_PER_PICTURE = 1000
# A reply of more characters or calls is refused as a whole; given back with each request it would burst the context.
_ELSEWHERE = "Told with the last result of this reply."


@dataclass(frozen=True, slots=True)
class Told:
    """What is said in a step.

    Attributes
    ----------
    state : str
        How things stand, without what came of the last reply.
    feedback : str
        What came of the last reply.
    pictures : tuple of ImagePart
        They are shown in this step alone.
    """

    state: str
    feedback: str = ""
    pictures: tuple[ImagePart, ...] = ()


@dataclass(slots=True)
class Conversation:
    """Steps so far, and the requests that they make.

    A request always begins with the task. Of a conversation that is kept, the oldest steps after it are left out where
    the whole is too long; the newest step is never. A fresh conversation leaves out all of them but, where tools are
    called, the last one: results belong to their calls.
    """

    settings: AgentSettings
    _told: list[Told] = field(default_factory=list)
    _answers: list[Message] = field(default_factory=list)
    _problems: list[Mapping[str, str]] = field(default_factory=list)
    _factor: float = 1.0
    _estimate: float = 0.0

    def request(self, system: str, task: str, told: Told) -> list[Message]:
        """Return the messages of the next request; the step is remembered when it is `answered`."""
        self._told[len(self._answers) :] = [told]
        last = len(self._answers)
        if self.settings.conversation == "kept":
            first = 0
            limit = self.settings.context_tokens
            while limit is not None and first < last:
                if self._factor * estimate(self._messages(system, task, first)) <= limit:
                    break
                first += 1
        else:
            first = last - 1 if last and self.settings.replies == "tools" else last
        messages = self._messages(system, task, first)
        self._estimate = estimate(messages)
        return messages

    def answered(self, completion: Completion, problems: Mapping[str, str]) -> None:
        """Remember what the model answered, and why which of its calls were refused."""
        self._answers.append(_given_back(completion))
        self._problems.append(problems)
        told = self._told[-1]
        gone = "\n\nThe pictures of this step are no longer shown." if told.pictures else ""
        self._told[-1] = Told(told.state + gone, told.feedback)
        counted = completion.usage.input_tokens
        if counted and self._estimate:
            # Never below the rule of thumb: part of what an endpoint counts may be left out of its figure.
            self._factor = max(1.0, counted / self._estimate)

    def _messages(self, system: str, task: str, first: int) -> list[Message]:
        """Build a request that shows the steps from `first` on."""
        opening = [task]
        if first and self.settings.conversation == "kept":
            which = "Your first reply" if first == 1 else f"Your first {first} replies"
            opening.append(f"{which}, and what came of them, are left out here.")
        messages = [Message.of("system", system)]
        for number in range(first, len(self._told)):
            told = self._told[number]
            calls = self._calls(number - 1) if number > first else ()
            said = told.state if calls else _with_feedback(told)
            text = "\n\n".join([*opening, said] if number == first else [said])
            results = self._results(calls, number - 1, told.feedback)
            messages.append(Message("user", (*results, TextPart(text), *told.pictures)))
            if number < len(self._answers):
                # An answer without anything cannot be sent back.
                turn = self._answers[number]
                messages.append(turn if turn.parts else Message.of("assistant", "(no answer)"))
        return messages

    def _calls(self, number: int) -> tuple[ToolCallPart, ...]:
        return tuple(part for part in self._answers[number].parts if isinstance(part, ToolCallPart))

    def _results(self, calls: Sequence[ToolCallPart], number: int, feedback: str) -> tuple[ToolResultPart, ...]:
        if not calls:
            return ()
        problems = self._problems[number]
        found = []
        for position, part in enumerate(calls, start=1):
            problem = problems.get(part.call.id, "")
            if problem:
                text = f"not done: {problem}"
            elif problems:
                text = "not done, because another call of the reply is wrong"
            elif position == len(calls):
                text = feedback or "done"
            else:
                text = _ELSEWHERE
            found.append(ToolResultPart(part.call.id, part.call.name, text, bool(problems)))
        return tuple(found)


def estimate(messages: Sequence[Message]) -> float:
    """Return about how many tokens a request has."""
    pictures = characters = 0
    for message in messages:
        for part in message.parts:
            match part:
                case TextPart(text):
                    characters += len(text)
                case ImagePart():
                    pictures += 1
                case ToolCallPart(call):
                    characters += len(call.name) + len(call.raw)
                case ToolResultPart():
                    characters += len(part.text)
                case _:
                    characters += len(repr(part))
    return characters / CHARACTERS_PER_TOKEN + TOKENS_PER_PICTURE * pictures


def _given_back(completion: Completion) -> Message:
    """Return a turn as later requests hold it."""
    characters, calls = round(CHARACTERS_PER_TOKEN * estimate([completion.turn])), len(completion.calls)
    if characters <= LONGEST_REPLY and calls <= MOST_ACTIONS:
        return completion.turn
    return Message.of("assistant", f"(a reply of {characters} characters and {calls} calls, left out here)")


def _with_feedback(told: Told) -> str:
    if not told.feedback:
        return told.state
    return f"# What came of your last reply\n{told.feedback}\n\n{told.state}"
