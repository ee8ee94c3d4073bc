"""Parameters counted from fits are those of the literature's formulas."""

import numpy as np
import pytest

from bayesclf.experiments import find, run
from bayesclf.experiments.parameter_count import KINDS, free_parameters

EXPERIMENT = find("parameter-count")


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    return run(EXPERIMENT, EXPERIMENT.Settings(attributes=4), tmp_path_factory.mktemp("parameters"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # The one parameter of P(y) in addition to Mitchell's 2(2^n − 1) and 2n, and within Wehbe's 4n + 1 and 3n + 1.
        ("unrestricted", [3, 7, 15, 31]),
        ("boolean NB", [3, 5, 7, 9]),
        ("multinomial NB", [1, 3, 5, 7]),
        ("GNB", [5, 9, 13, 17]),
        ("GNB2", [4, 7, 10, 13]),
        ("LR", [2, 3, 4, 5]),
        # 2n means and n(n + 1)/2 entries of each Σ.
        ("GDA shared", [4, 8, 13, 19]),
        ("GDA class", [5, 11, 19, 29]),
    ],
)
def test_counts(outcome, name, expected):
    own = outcome.table[outcome.table["classifier"] == name]
    assert own["n"].tolist() == [1, 2, 3, 4]
    assert own["counted"].tolist() == expected
    assert own["formula"].tolist() == expected


def test_free_parameters_leave_out_what_ties_entries(rng):
    """A probability vector of three, a symmetric 2 × 2 matrix, a constant and a number: 2 + 3 + 0 + 1."""
    A = rng.standard_normal((50, 2, 2))
    parts = (rng.dirichlet(np.ones(3), 50), (A @ A.transpose(0, 2, 1)).reshape(50, 4), np.ones((50, 1)))
    assert free_parameters(np.concatenate([*parts, 1e6 * rng.standard_normal((50, 1))], axis=1)) == 6


def test_the_answer_compares_counts_with_formulas(outcome):
    assert outcome.answer[0].startswith("With 4 boolean attributes, the unrestricted classifier has 31 parameters")
    cases = 4 * len(KINDS)
    assert outcome.answer[1] == f"Counts agree with the literature's formulas in {cases} of {cases} cases."
    assert outcome.summary["n = 4"].tolist()[0] == 31
    assert {text.get_text() for text in outcome.figure.draw().legends[0].get_texts()} == set(KINDS)
