"""Wording of lists: how long, and how they end."""

import pytest

from bayesclf.errors import DoesNotExist, InputError, Refused, RefusedAttribute
from bayesclf.wording import AND_MORE, IN_ALL, LONGEST_MESSAGE, LONGEST_NAME, joined, listed, printable, visible


@pytest.mark.parametrize(("more", "end"), [(", …", ", …"), (IN_ALL, ", … (4 in all)"), (AND_MORE, " and 1 more")])
def test_a_long_list_ends_as_it_is_told(more, end):
    assert listed(range(3), 3, more) == "0, 1, 2"
    assert listed(range(4), 3, more) == f"0, 1, 2{end}"


@pytest.mark.parametrize(("items", "said"), [([], ""), ([1], "1"), ([1, 2], "1 and 2"), ([1, 2, 3], "1, 2 and 3")])
def test_and_is_before_the_last_item(items, said):
    assert joined(items) == said


@pytest.mark.parametrize(
    "text", ["\x1b]0;title\x07", "\x9b2J", "a\rb", "a\nb", "a\u2028b", "\u202eright to left", "half \ud800", "\x00"]
)
def test_what_a_terminal_would_obey_is_visible(text):
    shown = visible(text)
    assert shown.isprintable()
    assert shown.encode() == visible(shown).encode()


def test_letters_of_all_languages_stay():
    text = "naïve ★ 朴素 👩\u200d🔬 می\u200cخواهم\u00a0±"
    assert visible(text) == printable(text) == text


@pytest.mark.parametrize("name", ["x" * 10_000, "two words " * 1000, "it's " * 2000, "\x1b[31m" * 2000])
def test_a_message_shortens_names_and_nothing_else(name):
    said = f"column {name!r} has 3 missing cells (rows 1, 2, 3); leave it out with --drop {name}"
    assert str(InputError(said)) == printable(said)
    start, end = "column ", " has 3 missing cells (rows 1, 2, 3); leave it out with --drop "
    assert printable(said).startswith(start)
    assert end in printable(said) or len(printable(said)) == LONGEST_MESSAGE
    assert len(printable(said)) <= LONGEST_MESSAGE
    assert printable(printable(said)) == printable(said)


def test_prose_between_apostrophes_stays():
    said = "ArviZ's draws, " + "the models' rules and the user's words, " * 20 + "'a' and 'b'"
    assert printable(said) == said


@pytest.mark.parametrize("kind", [InputError, DoesNotExist, Refused, RefusedAttribute])
def test_every_error_is_fit_to_print(kind):
    assert str(kind("a\x1b[2Jb\nc" + "d" * 9999)).startswith(r"a\x1b[2Jb\nc")
    assert len(str(kind("d" * 9999))) == LONGEST_NAME
