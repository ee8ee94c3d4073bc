"""The fenced blocks of a Markdown page: which of them run, and what they print.

A block that does not run is marked right above it: ``<!-- not run by the tests: reason -->``. A block of text below
one that runs is what it prints; a line ``…`` in it stands for any lines.
"""

import ast
import contextlib
import io
import os
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHELLS = ("sh", "bash", "console")
FENCE = re.compile(
    r"(?:^<!-- not run by the tests: (?P<reason>[^>]+?) -->\n)?^```(?P<language>\{?\w+\}?)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
ANY_LINES = "…"


@dataclass(frozen=True)
class Block:
    """A fenced block: language and code, why it is not run, its line, and where its code lies in the page."""

    language: str
    code: str
    reason: str | None
    line: int = 0
    span: tuple[int, int] = (0, 0)

    @property
    def commands(self) -> list[str]:
        """The lines of a shell block to run, without prompts; those of a console block without one are answers."""
        lines = self.code.splitlines()
        if self.language == "console":
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page in their order."""
    return [
        Block(
            found["language"],
            found["code"],
            found["reason"],
            text.count("\n", 0, found.start("code")),
            found.span("code"),
        )
        for found in FENCE.finditer(text)
    ]


def steps(text: str) -> Iterator[tuple[Block, Block | None]]:
    """Yield the blocks of a page that run, each with the block of what it prints, if it is followed by one."""
    found = blocks(text)
    for block, after in zip_longest(found, found[1:]):
        if block.reason is not None or block.language not in ("python", *SHELLS):
            continue
        between = text[block.span[1] + len("```") : after.span[0]].removesuffix("```text\n") if after else ""
        yield block, after if after and after.language == "text" and not between.strip() else None


def run(block: Block, page: str, names: dict[str, object]) -> str:
    """Run a block in this process, in the names that a page's blocks share; return what it printed."""
    from bayesclf import cli

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if block.language == "python":
            # The empty lines let a traceback name the line of the page.
            exec(compile("\n" * block.line + block.code, page, "exec"), names)
        for command in block.commands if block.language in SHELLS else ():
            program, *arguments = shlex.split(command, comments=True)
            assert program == "bayesclf", f"{page}, line {block.line}: only bayesclf's commands are run here"
            assert cli.run(arguments) == 0, f"{page}, line {block.line}: {command}"
    return printed.getvalue()


def differences(shown: str, printed: str) -> list[str]:
    """Return how the lines that a page shows differ from those printed, beyond one in the last digit of a decimal."""
    told, said = ([" ".join(line.split()) for line in text.strip().splitlines()] for text in (shown, printed))
    position = 0
    anywhere = False
    for line in told:
        if line == ANY_LINES:
            anywhere = True
            continue
        places = range(position, len(said) if anywhere else min(position + 1, len(said)))
        place = next((place for place in places if _same(line, said[place])), None)
        if place is None:
            found = "not among the lines printed" if anywhere else repr(said[position] if position < len(said) else "")
            return [f"shown {line!r}, printed: {found}"]
        position, anywhere = place + 1, False
    if position < len(said) and not anywhere:
        return [f"printed and not shown: {line!r}" for line in said[position:]]
    return []


def _same(shown: str, printed: str) -> bool:
    """Return whether two lines are the same up to one unit in the last digit of their decimals."""
    if NUMBER.sub("#", shown) != NUMBER.sub("#", printed):
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    return all(abs(float(one) - float(other)) <= 1.01 * _last_digit(one) for one, other in pairs)


def _last_digit(number: str) -> float:
    """Return the unit of the last digit of a decimal."""
    mantissa, _, exponent = number.partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def rewritten(path: Path) -> str:
    """Return a page with what its blocks print now, where that is not what it shows."""
    os.environ["COLUMNS"] = columns_of(path)
    text = path.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    changes = []
    for block, shown in steps(text):
        printed = run(block, str(path), names)
        if shown and differences(shown.code, printed):
            kept = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
            changes.append((shown.span, kept + "\n"))
        elif not shown and printed:
            print(f"{path.name}, line {block.line}, prints\n{printed}", file=sys.stderr)
    for (start, end), code in reversed(changes):
        text = text[:start] + code + text[end:]
    return text


NARROW = {"five_minutes": "77"}
"""Columns of the terminal of pages whose output must fit beside both columns of links on a screen of 1,280 pixels."""


def columns_of(path: Path) -> str:
    """Return the columns of the terminal that a page's commands print to."""
    return NARROW.get(path.stem, "100")


def texts(path: Path) -> list[str]:
    """Return the strings of a module beside its docstrings, with "{…}" for each value in them."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    formatted = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for node in formatted for part in node.values}
    parts |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    filled = [
        "".join(part.value if isinstance(part, ast.Constant) else "{…}" for part in node.values) for node in formatted
    ]
    constants = [node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in parts]
    return filled + [value for value in constants if isinstance(value, str)]


def quiet_environment() -> None:
    """Set what the pages' commands look at: no tables of the user's, figures in memory."""
    os.environ.pop("BAYESCLF_DATA", None)
    os.environ.update(MPLBACKEND="agg")
