"""Wording of lists: how long, and how they end."""

import pytest

from bayesclf.wording import AND_MORE, IN_ALL, flagged_rows, joined, listed


@pytest.mark.parametrize(("more", "end"), [(", …", ", …"), (IN_ALL, ", … (4 in all)"), (AND_MORE, " and 1 more")])
def test_a_long_list_ends_as_it_is_told(more, end):
    assert listed(range(3), 3, more) == "0, 1, 2"
    assert listed(range(4), 3, more) == f"0, 1, 2{end}"


def test_braces_in_names_are_names():
    assert listed(["{total}", "{left}", "{}"], 2, IN_ALL) == "{total}, {left}, … (3 in all)"


@pytest.mark.parametrize(("items", "said"), [([], ""), ([1], "1"), ([1, 2], "1 and 2"), ([1, 2, 3], "1, 2 and 3")])
def test_and_is_before_the_last_item(items, said):
    assert joined(items) == said


def test_many_flagged_rows_are_counted():
    assert flagged_rows([True] * 7) == "rows 1, 2, 3, 4, 5, … (7 in all)"
