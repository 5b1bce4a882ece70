"""The fixed words of prompts: roles, how to answer, and the variants of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tasks_lib.records import Modality

ROLES: Mapping[Modality, str] = MappingProxyType(
    {
        Modality.GUI: "You operate desktop programs of materials science through mouse and keyboard.",
        Modality.CODE: "You solve problems of materials science by writing Python scripts.",
        Modality.FIGURE: (
            "You make scientific figures with the plotting program Veusz, by script or through its windows."
        ),
    }
)

BLOCKS = """\
Answer in fenced blocks. Text outside them is not acted on.

{work}
```decision
one word: DONE when the task is finished and you have checked it, FAIL when it cannot be done, WAIT to let a program \
work on; such a word overrides the other blocks of the reply, so give it in a reply of its own
```

```memory
optional: notes that you will see again in the next step; they replace the notes before
```

A reply without a block that can be done costs a step. Only DONE and FAIL end the work."""

SHORT_BLOCKS = """\
Answer in fenced blocks.

{work}
```decision
DONE, FAIL or WAIT, alone
```

```memory
notes for yourself
```"""

TOOLS = """\
Answer by calling the tools. Text beside the calls is not acted on. All calls of a reply are checked before any of \
them is done: one that is malformed, and nothing is done. The calls of a reply are done in order; done, fail and wait \
override the other calls of the reply, so call them alone.

{work}
A reply without a call that can be done costs a step. Only done and fail end the work."""

SHORT_TOOLS = """\
Answer by calling the tools; call done, fail or wait alone.
{work}"""

ACTIONS = """\
```python
computer.mouse.move_abs(412, 96)
computer.mouse.single_click()
```
Each line is one call from this list, with plain numbers and quoted texts as arguments. There are no variables, \
imports, loops or expressions. The whole block is checked before any of it is done; one bad line and nothing is done.

{calls}
"""

CODE = """\
```python
# a whole Python 3 script
```
The script is written to a file and run in the work folder. You are told its return code and the ends of its output. \
Every script starts afresh: variables do not live on, files do. A return code of 0 does not end the work.
"""

VEUSZ = """\
```veusz
# a whole Veusz document script: Add('page'), To(...), Set(...), ImportFileCSV(...)
```
"""

RENDERED = """\
The script makes the document anew: Veusz runs it in the work folder, keeps it as {name}.vsz and exports {name}.pdf \
and {name}.png. You are told its messages{shown}. Alternatively, but not in the same reply, work on the open windows.
"""

PLACES = """\
Coordinates are pixels of the screenshot that you are shown ({width} x {height}), counted from its top left corner.
"""

# For models that take no pictures.
BLIND = """\
You are shown no pictures. The windows, and what is numbered in them where there is such a list, are told in words. \
Coordinates are pixels of the screen ({width} x {height}), counted from its top left corner.
"""


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant of the system prompt.

    Attributes
    ----------
    rules : str
        How to go about the work; told after how to answer.
    blocks, tools : str
        How to answer in each form of replies.
    explained : bool
        Whether each call is explained by a sentence.
    """

    rules: str = ""
    blocks: str = BLOCKS
    tools: str = TOOLS
    explained: bool = True


VARIANTS: Mapping[str, Variant] = MappingProxyType(
    {
        "plain": Variant(),
        "careful": Variant(
            rules="""\
How to work:
1. Before the first step, read the whole task and note which files are to be left behind and what each must hold.
2. Take one small step at a time and look at what came of it before the next one.
3. Where something did not work, find out why before you try again; do not repeat a step that changed nothing.
4. Keep what you found out, with units, in your notes.
5. Before you end, check that every file is there under its name and holds what was asked for, in the unit asked for."""
        ),
        "short": Variant(blocks=SHORT_BLOCKS, tools=SHORT_TOOLS, explained=False),
    }
)
