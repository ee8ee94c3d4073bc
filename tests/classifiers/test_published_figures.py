"""Figures that others have published, of tables with fixed contents.

`fixtures/tables/README.md` says where the tables come from that are not among those of the package.
"""

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import xlogy

import bayesclf as bc

TABLES = Path(__file__).parents[1] / "fixtures" / "tables"


def table(name):
    frame = pd.read_csv(TABLES / f"{name}.csv.gz", dtype=str)
    return frame.drop(columns="class"), frame["class"]


def votes():
    found = bc.datasets.load("votes")
    return found.X, found.y


@pytest.mark.parametrize(("rows", "right"), [(votes, 392), (lambda: table("kr_vs_kp"), 2810)], ids=["votes", "chess"])
def test_naive_bayes_with_laplaces_rule_leaving_one_out(rows, right):
    """Cells that are missing are skipped; (n + 1)/(N + J) is the predictive at α = 1."""
    X, y = rows()
    found = bc.CategoricalNB(1.0, random_state=1).fit(X, y).loo(X, y, rule="predictive", method="exact")
    assert (found.elpd_i > np.log(0.5)).sum() == right


def test_a_tree_of_bnclassify():
    """Its TAN on car: edges by conditional information less AIC's penalty, θ = (n + .01)/(N + .01 J).

    Mihaljević, Bielza & Larrañaga (2018), bnclassify: Learning Bayesian network classifiers, The R Journal 10(2).
    """
    X, y = table("car")

    def gain(one, other):
        counts = pd.crosstab(y, [X[one], X[other]], dropna=False).to_numpy().reshape(4, X[one].nunique(), -1)
        log = (xlogy(m, m).sum() for m in (counts, counts.sum((1, 2)), counts.sum(2), counts.sum(1)))
        both, labels, first, second = log
        return both + labels - first - second - 4 * (counts.shape[1] - 1) * (counts.shape[2] - 1)

    assert {pair for pair in combinations(X, 2) if gain(*pair) > 0} == {
        ("buying", "maint"),
        ("persons", "safety"),
        ("lug_boot", "safety"),
    }
    edges = [("buying", "maint"), ("persons", "safety"), ("safety", "lug_boot")]  # away from the first columns
    counts = y.value_counts().sort_index()
    clf = bc.BayesNetClassifier(
        edges, alpha=0.01, basis="softmax", inference="map", class_prior=((counts + 0.01) / (len(y) + 0.04)).to_dict()
    ).fit(X, y)
    joint = clf.predict_joint_log_proba(X)[np.arange(len(y)), np.searchsorted(clf.classes_, y)]
    assert round(joint.sum(), 2) == -13280.39
    theta = clf.model_.blocks[0].family.simplexes()
    assert len(theta[0]) * (theta[0].shape[1] - len(theta[1])) + 3 == 131
