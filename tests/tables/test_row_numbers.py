"""Sentences name rows of the table that was given, also where rows of weight 0 were left out."""

import datetime

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import bayesclf as bc
from bayesclf.errors import InputError

Y = ["a", "b", "a", "b", "a", "b"]
WEIGHT = [1.0, 0.0, 1.0, 0.0, 1.0, 1.0]
"""Rows 2 and 4 do not count, so that the fifth row is the third of those that do."""


def table(cell, like=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)):
    """Return a table of one column, its fifth cell the one given."""
    cells = [*like[:4], cell, like[5]]
    return pd.DataFrame({"x": cells}, index=[f"row {letter}" for letter in "uvwxyz"])


WORDS = ("some words",) * 6
CASES = {
    "infinite": (bc.GaussianNB(), table(np.inf), r"\(inf; row 5\)"),
    "infinite beside a block": (
        bc.NaiveBayes({("x", "z"): "conditional-gaussian"}),
        table(np.inf).assign(z=list("ababab")),
        r"\(inf; row 5\)",
    ),
    "negative": (bc.MultinomialNB(), table(-1.0), r"holds -1 \(row 5\)"),
    "missing count": (bc.MultinomialNB(), table(np.nan), r"\(NaN, row 5\)"),
    "a date": (bc.CategoricalNB(), table(datetime.date(2026, 1, 1), WORDS), r"\(row 5\)"),
    "sparse": (bc.MultinomialNB(), sparse.csr_array(table(-1.0).to_numpy()), r"holds -1 \(row 5\)"),
    "sparse, infinite": (bc.LogisticRegression(), sparse.csr_array(table(np.inf).to_numpy()), r"value \(row 5\)"),
    "no text": (bc.TextNB(), table(7, WORDS), r"holds 7 \(row 5\)"),
    "missing text": (bc.TextNB(event_model="bernoulli"), table(None, WORDS), r"missing document \(row 5\)"),
    "missing in a regression": (bc.LogisticRegression(missing="error"), table(np.nan), r"\(row 5\)"),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_of_weight_0_shift_no_numbers(name):
    clf, X, said = CASES[name]
    with pytest.raises(InputError, match=said):
        clf.fit(X, Y, sample_weight=WEIGHT)
    with pytest.raises(InputError, match=said):
        clf.fit(X, Y)


def test_rows_without_a_label_are_counted_with_those_of_weight_0():
    X = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -3.0]})
    clf = bc.NaiveBayes(families=("exponential", "log-normal"), random_state=1, inference="map")
    clf.fit(X, ["a", "b", "a", "b", "a", "b", None], sample_weight=[1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0], unlabeled="use")
    assert any("(rows 7); there it counts as missing" in note for note in clf.notes_)
