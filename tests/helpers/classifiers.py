"""What the contract tests know of each classifier: its variants, the columns it can use, a quick engine."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from helpers.suites import mostly_slow

import bayesclf as bc
from bayesclf.engines import Exact, Laplace
from bayesclf.families import LearntAlpha
from bayesclf.families.gaussian import SHARED_OVER
from bayesclf.families.multivariate.gaussian import COVARIANCE_DIMS
from bayesclf.posterior import averaging
from bayesclf.rules import RULES

NUMBERS, WORDS, EVENTS, COUNTS = ["age", "dose"], ["ward", "smoker"], ["fever", "cough"], ["visits", "calls"]
WARDS = ["north", "west", "east"]
"""In the order of a family that has one, which is not that of the alphabet."""
FILL = {"ward": "north", "smoker": "no", "age": 35.0, "dose": 1.5}
"""Cells for missing ones, where only complete rows have a posterior in closed form."""
PLUG_IN = ("mle", "map")
STRANGE = {"dose": 1e9, "smoker": "maybe", "cough": 1.0, "calls": 1e6}
"""Cells that would change every answer if their rows counted."""
CLOSED_FORM = ("mle", "map", "mean", "predictive")
"""Rules whose answer involves no draw, so that they do not depend on the order of classes or levels."""


@dataclass(frozen=True, eq=False)
class Case:
    """A classifier, the columns it can use, and the engine that gives it a posterior without a Markov chain."""

    name: str
    kind: type
    columns: list[str]
    options: dict[str, Any] = field(default_factory=dict)
    inference: Any = field(default_factory=lambda: Exact(draws=75))
    tolerance: float = 1e-9
    closed_form: tuple[str, ...] = CLOSED_FORM
    empty: float = np.nan

    def make(self, **options):
        return self.kind(**{"inference": self.inference, "random_state": 3, **self.options, **options})

    def table(self, mixed_table):
        X, y = mixed_table
        return X[self.columns], y

    def with_rows_of_weight_zero(self, mixed_table):
        """Return the table with strange cells in the first five rows, whose weight is zero, labels and weights."""
        X, y = self.table(mixed_table)
        X = X.copy()
        X.loc[X.index[:5], X.columns[-1]] = STRANGE[X.columns[-1]]
        return X, y, np.repeat([0.0, 1.0], [5, len(y) - 5])


class FilledCase(Case):
    """One whose posterior has a closed form only without missing cells."""

    def table(self, mixed_table):
        X, y = super().table(mixed_table)
        return X.fillna(FILL), y


GENERATIVE = (
    Case("nb", bc.NaiveBayes, NUMBERS + WORDS, {"families": "gaussian"}),
    Case("nb auto", bc.NaiveBayes, NUMBERS + WORDS, {"families": "auto"}),
    Case("nb histogram", bc.NaiveBayes, NUMBERS + WORDS, {"families": "histogram"}),
    Case("categorical, α learnt", bc.CategoricalNB, WORDS, {"alpha": LearntAlpha(), "basis": "softmax"}),
    Case("categorical", bc.CategoricalNB, WORDS),
    *(FilledCase(f"gda {c}", bc.GaussianDiscriminantAnalysis, NUMBERS, {"covariance": c}) for c in COVARIANCE_DIMS),
    *(Case(f"gnb {variance}", bc.GaussianNB, NUMBERS, {"variance": variance}) for variance in SHARED_OVER),
    Case("bernoulli", bc.BernoulliNB, EVENTS, {"alpha": 2.0}),
    Case("multinomial", bc.MultinomialNB, COUNTS, {"alpha": 2.0}, empty=0.0),
    FilledCase("joint", bc.JointBayes, WORDS),
    FilledCase("tan", bc.BayesNetClassifier, WORDS),
    FilledCase(
        "network, class-free",
        bc.BayesNetClassifier,
        WORDS,
        {"structure": [(WORDS[0], WORDS[1])], "class_free": [WORDS[0]]},
    ),
    FilledCase(
        "network of numbers",
        bc.BayesNetClassifier,
        NUMBERS + WORDS,
        {"structure": [("smoker", "age"), ("age", "dose")], "class_free": ["age"]},
    ),
    FilledCase("tan of numbers", bc.BayesNetClassifier, NUMBERS + WORDS),
    FilledCase("all trees", bc.BayesNetClassifier, WORDS, {"structure": "all-trees"}),
    FilledCase("all forests", bc.BayesNetClassifier, WORDS, {"structure": "all-forests"}),
    FilledCase("all trees of numbers", bc.BayesNetClassifier, NUMBERS + WORDS, {"structure": "all-trees"}),
)
# A Newton step below its tolerance leaves MAP and MLE with some seven digits.
LOGISTIC = (
    Case("lr numbers", bc.LogisticRegression, NUMBERS, {"prior_scale": 2.5}, Laplace(draws=500), 1e-6, PLUG_IN),
    Case("lr mixed", bc.LogisticRegression, NUMBERS + WORDS, {"prior_scale": 2.5}, Laplace(draws=500), 1e-6, PLUG_IN),
    Case(
        "lr scale",
        bc.LogisticRegression,
        NUMBERS + WORDS,
        {"prior_scale": "learned"},
        Laplace(draws=500),
        1e-6,
        PLUG_IN,
    ),
)
CASES = (*GENERATIVE, *LOGISTIC)


MAIN_SUITE = ("nb", "categorical", "gda class", "gnb class-feature", "bernoulli", "multinomial", "tan", "lr mixed")
"""Cases of the main suite where a test fits each of them: the others are variants, which are slow tests there."""


every_case = mostly_slow(CASES, MAIN_SUITE)
every_generative = mostly_slow(GENERATIVE, MAIN_SUITE)
with_numbers = mostly_slow([case for case in GENERATIVE if "age" in case.columns], MAIN_SUITE)
with_words = mostly_slow([case for case in GENERATIVE if "ward" in case.columns], MAIN_SUITE)
ADDITIVE = [case for case in GENERATIVE if case.name != "categorical, α learnt"]
"""Classifiers that the statistics of the rows determine; a learned α needs the rows."""
adds_up = mostly_slow(ADDITIVE, MAIN_SUITE)
words_add_up = mostly_slow([case for case in ADDITIVE if "ward" in case.columns], MAIN_SUITE)
every_rule = pytest.mark.parametrize("rule", RULES)

OF_STATISTICS = tuple(name for name, rule in RULES.items() if rule.source != "tempered")
"""Rules that need the statistics of the rows alone, and no row to leave out."""


def notes(clf):
    """Return the notes of a fit but that on its default rule, which says whether rows were left out."""
    return [note for note in clf.notes_ if "(rule '" not in note]


def assert_same_answers(one, other, X, rules, tolerance=1e-9, other_X=None):
    for rule in rules:
        found = other.predict_proba(X if other_X is None else other_X, rule=rule)
        np.testing.assert_allclose(found, one.predict_proba(X, rule=rule), rtol=0, atol=tolerance, err_msg=rule)


def log_likelihoods(clf, X, y):
    """Return log p(x_i, y_i | θ_s), if there is one, and log P(y_i | x_i, θ_s), each (draw, row)."""
    hypotheses, codes = clf.hypotheses("posterior"), clf.known_codes(y)
    answer = averaging.conditional(hypotheses, clf.rows(X))
    own = answer.log_proba[np.arange(len(codes)), codes]
    return (own + answer.log_x).T if hypotheses.generative else None, own.T
