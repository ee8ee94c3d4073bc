"""The classes of objects that a file may hold."""

import numpy as np
import pytest

import bayesclf as bc
from bayesclf.families import FAMILIES
from bayesclf.families.moments import Moments
from bayesclf.storage.allowed import classes

Y = np.array([0, 0, 1, 1])


def test_a_family_brings_its_statistics(monkeypatch):
    class Marks(Moments):
        pass

    class Marked(FAMILIES["gaussian"]):
        statistics_type = Marks

    monkeypatch.setitem(FAMILIES, "marked", Marked)
    assert classes()["Marked"] is Marked
    assert classes()["Marks"] is Marks


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_statistics_are_of_the_class_that_a_family_names(family):
    axes = {"category": bc.families.Axes(("no", "yes"), ("a", "b"), (("u", "v"), ("u", "v")))}
    codes = np.array([[0, 1], [1, 0], [1, 1], [0, 0]])
    cells = codes if family.kind == "category" else 1.0 + codes
    found = family().statistics(cells, Y, axes.get(family.kind, bc.families.Axes(("no", "yes"), ("a", "b"))))
    assert type(found) is family.statistics_type
