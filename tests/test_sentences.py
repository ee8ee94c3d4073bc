"""Every sentence that the package can print stands in `sentences.txt`, which is read as prose.

A sentence is a string beside docstrings with three or more words of letters; {…} stands for a value. After an intended
change, ``python tests/test_sentences.py`` writes the catalogue anew.
"""

import difflib
import re
import sys
from pathlib import Path

import pytest
from helpers.documents import ROOT, texts

CATALOGUE = Path(__file__).with_name("sentences.txt")
WORD = re.compile(r"[\"'(]?[A-Za-z][a-z]+(?:['’-][a-z]+)*[,.;:?!)\"']*")
NOT_PLAIN = {
    "has more than 25 words": r"(?:\S+ ){25}\S",
    "begins with a pronoun without a noun": r"(?:it|they|this|these|those) (?:is|are|was|were|has|have|can|may|do|does)\b",
    "has no noun": r".*\b(?:these|those) of\b",
    "is British": r".*\b\w*(?:[bl]our|haviour|vourite?|[lmnrt]is(?:e[ds]?|ing|ation)|alys(?:e[ds]?|ing)|elling|entre)\b",
    "has an idiom": r".*\b(?:anew|for lack of|as is said|teach|rules of a point|on slices|whether it is worth)\b",
}


def catalogue(folder=ROOT / "bayesclf"):
    """Return the sentences of each module below its name."""
    lines = []
    for path in sorted(folder.rglob("*.py")):
        found = sorted({line for text in texts(path) if sum(map(bool, map(WORD.fullmatch, text.split()))) > 2})
        lines += [f"# {path.relative_to(folder)}", *found] if found else []
    return lines
