"""Joint and Bayesian network classifiers as a user meets them."""

import re

import numpy as np
import pandas as pd
import pytest
from helpers.classifiers import CLOSED_FORM, assert_same_answers

import bayesclf as bc
from bayesclf import BayesNetClassifier, CategoricalNB, JointBayes, NaiveBayes, datasets
from bayesclf.engines import Exact
from bayesclf.errors import InputError, PredictionWarning, Refused
from bayesclf.families import JointTable

# Identities


def test_blocks_of_joint_tables_lie_between_naive_bayes_and_the_joint(play_tennis):
    X, y = play_tennis.X, play_tennis.y
    singles = NaiveBayes({(name,): JointTable() for name in X}, random_state=1).fit(X, y)
    assert_same_answers(CategoricalNB(random_state=1).fit(X, y), singles, X, CLOSED_FORM, 1e-12)
    whole = NaiveBayes({tuple(X): JointTable()}, random_state=1).fit(X, y)
    assert_same_answers(JointBayes(random_state=1).fit(X, y), whole, X, CLOSED_FORM, 1e-12)
    two = NaiveBayes({("outlook", "wind"): JointTable()}, random_state=1).fit(X, y)
    # The network's θ of wind has as many prior counts for each outlook; without a prior the two are the same.
    edge = BayesNetClassifier((("outlook", "wind"),), random_state=1).fit(X, y)
    assert_same_answers(edge, two, X, ["mle"], 1e-12)
    assert {"theta", "theta_2"} <= set(two.posterior_["posterior"].data_vars)


def test_maximum_likelihood_counts_exact_matches(play_tennis):
    """CS4780: P(y | x) is the share of y among the rows that equal x, and the class prior answers without one."""
    X, y = play_tennis.X[["outlook", "wind"]], play_tennis.y
    clf = JointBayes(inference="mle").fit(X, y)
    found = clf.predict_proba(X)
    for row, (_, x) in enumerate(X.iterrows()):
        same = (x == X).all(axis=1).to_numpy()
        np.testing.assert_allclose(found[row], [np.mean(y[same] == label) for label in clf.classes_], atol=1e-12)
    table = X.assign(wind=np.where(X["outlook"] == "rain", "weak", X["wind"]))
    without = JointBayes(inference="mle").fit(table, y)
    with pytest.warns(PredictionWarning, match="1 of 1 rows get the class prior"):
        proba = without.predict_proba(pd.DataFrame({"outlook": ["rain"], "wind": ["strong"]}))
    np.testing.assert_allclose(proba, [[5 / 14, 9 / 14]])


# Fitting


def test_numbers_are_refused_by_name(mixed_table):
    X, y = mixed_table
    with pytest.raises(Refused, match=r"takes categories, but there are numbers in 'age', 'dose'; .* NaiveBayes"):
        JointBayes().fit(X[["age", "ward", "dose"]], y)


# Comparisons


@pytest.mark.slow
def test_tan_beats_naive_bayes_on_votes():
    table = bc.datasets.load("votes")
    result = bc.compare(
        {"nb": NaiveBayes(), "tan": BayesNetClassifier(missing="level"), "joint": JointBayes()},
        table.X,
        table.y,
        rules=("bayes-optimal",),
    )
    lines = result.table.set_index("model")
    assert lines.loc["tan", "log_loss"] < lines.loc["nb", "log_loss"]
    assert lines.loc["tan", "accuracy"] > lines.loc["nb", "accuracy"]
    assert "2 × 65,536 probabilities" in lines.loc["joint", "reason"]


# Every tree at once


@pytest.fixture(scope="module")
def votes():
    table = datasets.load("votes")
    return table.X.iloc[:, :8], table.y


@pytest.mark.parametrize("options", [{}, {"equivalent_rows": (1.0, 10.0)}], ids=str)
@pytest.mark.parametrize("structure", ["all-trees", "all-forests"])
def test_probabilities_of_edges_are_those_of_drawn_trees(structure, options, votes):
    X, y = votes
    clf = BayesNetClassifier(structure, missing="level", inference=Exact(100, 2), random_state=1, **options).fit(X, y)
    table = clf.edge_probabilities_.to_numpy()
    np.testing.assert_allclose(table, table.T)
    drawn = clf.posterior_["posterior"]["tree"].mean(("chain", "draw")).values
    assert (np.abs(drawn - table[np.triu_indices(8, 1)]) < 5 * np.sqrt(0.25 / 200)).all()
    if structure == "all-trees":
        np.testing.assert_allclose(table.sum() / 2, 7)
        assert len(clf.edges_) == 7
    assert clf.equivalent_rows_.sum() == pytest.approx(1)


def test_the_most_probable_tree_answers_as_the_network_with_its_edges(play_tennis):
    X, y = play_tennis.X, play_tennis.y
    clf = BayesNetClassifier("all-trees", equivalent_rows=6.0, random_state=1).fit(X, y)
    sizes = {"outlook": 3, "temperature": 3, "humidity": 2, "wind": 2}
    network = BayesNetClassifier(clf.edges_, random_state=1).fit(X, y)
    family = network.model_.blocks[0].family
    factors = family.layout(family.axes).factors
    names = family.axes.features
    alpha = np.concatenate(
        [
            np.full(n, 6.0 / n)
            for factor in factors
            for n in [np.prod([sizes[names[j]] for j in factor.scope], dtype=int)]
        ]
    )
    same = BayesNetClassifier(clf.edges_, alpha=alpha, basis="softmax", random_state=1).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X, rule="map"), same.predict_proba(X, rule="map"), rtol=1e-12)


@pytest.fixture(scope="module")
def numbers_and_words():
    """Return a table with gaps, of which two numbers depend on each other, and labels."""
    rng = np.random.default_rng(2)
    y, z = rng.choice(["no", "yes"], 300), rng.normal(size=300)
    X = pd.DataFrame(
        {"u": z + (y == "yes"), "v": z**2, "w": rng.choice(["p", "q"], 300), "k": rng.integers(4, size=300)}
    )
    X.loc[::7, "v"], X.loc[::11, "w"] = np.nan, None
    return X, y


def test_all_trees_of_numbers_are_those_of_the_cells_that_the_notes_name(numbers_and_words):
    X, y = numbers_and_words
    clf = BayesNetClassifier("all-trees", missing="level", random_state=1).fit(X, y)
    (note,) = [note for note in clf.notes_ if "bin numbers near quantiles" in note]
    cut = X[["w"]].copy()
    for name, cuts in re.findall(r"'(\w)' at ([-.\d, ]+\d)", note):
        cells = np.searchsorted(np.array(cuts.split(", "), dtype=float), X[name], side="right")
        cut[name] = pd.Series(cells.astype(str), dtype=object).where(X[name].notna(), None)
    words = BayesNetClassifier("all-trees", missing="level", random_state=1).fit(cut[X.columns], y)
    assert cut.nunique().tolist() == [2, 5, 5, 4]
    for rule in CLOSED_FORM:
        found, expected = clf.predict_proba(X, rule=rule), words.predict_proba(cut[X.columns], rule=rule)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12, err_msg=rule)
    block = NaiveBayes(blocks={tuple(X): "every-tree-of-cells"}, missing="level", random_state=1).fit(X, y)
    np.testing.assert_allclose(block.predict_proba(X), clf.predict_proba(X), rtol=0, atol=1e-12)


def test_numbers_with_too_few_rows_for_cuts_are_named():
    X = pd.DataFrame({"a": range(6), "b": [0.5, 2, 1] * 2})
    notes = BayesNetClassifier("all-trees").fit(X, [0, 1] * 3).notes_
    assert "too few rows to bin numbers, whose values are not used: 'a', 'b'" in notes


def test_a_density_of_cells_is_proper():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"x": np.where(rng.random(200) < 0.4, 0.0, rng.exponential(2.0, 200).round(1))})
    (block,) = BayesNetClassifier("all-trees", random_state=1).fit(X, rng.integers(2, size=200)).model_.blocks
    u = (np.arange(1_000_000) + 0.5) / 1e6 * np.pi - np.pi / 2
    density = np.exp(block.family.posterior(block.statistics).log_predictive(np.tan(u)[:, None]))
    np.testing.assert_allclose((density / np.cos(u)[:, None] ** 2).sum(axis=0) * np.pi / 1e6, 1, rtol=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"structure": (("snow", "wind"),)}, "names column 'snow'"),
        ({"structure": "chain"}, "structure must be 'tan', 'all-trees', 'all-forests', or edges"),
        ({"structure": "all-trees", "alpha": 1.0}, "structure='all-trees' takes equivalent_rows instead of alpha"),
        ({"structure": "all-trees", "equivalent_rows": "many"}, "equivalent_rows must be a number or several"),
        ({"structure": "tan", "equivalent_rows": 1.0}, "equivalent_rows is for structure='all-trees' or 'all-forests'"),
    ],
)
def test_structures_and_their_options_are_checked(options, message, play_tennis):
    with pytest.raises(InputError, match=message):
        BayesNetClassifier(**options).fit(play_tennis.X, play_tennis.y)


def test_all_trees_refuse_what_they_cannot_do(play_tennis, votes):
    with pytest.raises(Refused, match="missing cells, and sums over all trees take complete training rows only"):
        BayesNetClassifier("all-trees").fit(*votes)
    assert not hasattr(BayesNetClassifier(random_state=1).fit(play_tennis.X, play_tennis.y), "edge_probabilities_")
