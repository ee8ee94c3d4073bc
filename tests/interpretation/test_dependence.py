"""Which columns depend on each other given the class: the evidence by other routes, and what is made of it."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import gammaln

import bayesclf as bc
from bayesclf.errors import InputError, Refused
from bayesclf.families import Gaussian, MultivariateGaussian
from bayesclf.families.base import Axes
from bayesclf.interpretation.dependence import log_evidence_of_scatter, log_evidence_of_table


def weather(given_lightning, rows=4000, seed=1):
    """Rows of Mitchell's example: Thunder depends on Lightning, and on Rain if not `given_lightning`."""
    rng = np.random.default_rng(seed)
    rain = rng.random(rows) < 0.4
    lightning = rng.random(rows) < np.where(rain, 0.6, 0.1)
    cause = lightning if given_lightning else rain
    thunder = rng.random(rows) < np.where(cause, 0.9, 0.05)
    table = {"Thunder": np.where(thunder, "yes", "no"), "Rain": np.where(rain, "yes", "no")}
    return pd.DataFrame(table), np.where(lightning, "lightning", "none")


def pairs(X, y):
    return bc.dependent_pairs(bc.NaiveBayes(random_state=1).fit(X, y), X, y)


def test_thunder_and_rain_are_independent_given_lightning_though_not_by_themselves():
    X, y = weather(given_lightning=True)
    (line,) = pairs(X, y).table.itertuples()
    assert line.probability < 0.1
    without = pairs(X, np.where(np.arange(len(y)) % 2, "any", "label"))
    assert without.table["probability"].item() > 0.999
    assert pairs(*weather(given_lightning=False)).to_join == (("Thunder", "Rain"),)


def test_the_evidence_averages_over_what_the_prior_is_worth():
    counts = np.array([[[7.0, 1.0, 0.0], [2.0, 6.0, 3.0]], [[1.0, 4.0, 2.0], [5.0, 0.0, 1.0]]])

    def marginal(rows, tables):
        """Return the evidence of tables, one of each class, whose cells share what the prior is worth."""
        alpha, n = rows / tables[0].size, tables.reshape(2, -1).sum(axis=1)
        return (gammaln(rows) - gammaln(rows + n)).sum() + (gammaln(tables + alpha) - gammaln(alpha)).sum()

    grid = (0.5, 2.0, 8.0)
    joint = [marginal(rows, counts) for rows in grid]
    apart = [marginal(rows, counts.sum(axis=1)) + marginal(rows, counts.sum(axis=2)) for rows in grid]
    expected = np.log(np.exp(joint).sum() / np.exp(apart).sum())
    assert log_evidence_of_table(counts, grid) == pytest.approx(expected, abs=1e-12)
    halves_to_dozens = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    assert log_evidence_of_table(counts) == log_evidence_of_table(counts, halves_to_dozens)


def test_the_evidence_of_numbers_is_that_of_the_families_on_contrasts():
    """n − 1 orthonormal contrasts have mean 0: families with a known mean of 0 must give the same evidence."""
    rng = np.random.default_rng(3)
    axes, total, sums = Axes(("only",), ("a", "b")), 0.0, []
    for n in (6, 9):
        X = rng.normal(size=(n, 2)) @ [[1.0, 0.7], [0.0, 0.6]]
        contrasts = stats.ortho_group.rvs(n, random_state=1)
        basis = np.linalg.qr(np.column_stack([np.ones(n), contrasts]))[0][:, 1:n]
        Z, y = basis.T @ X, np.zeros(n - 1, dtype=int)
        joint = MultivariateGaussian("class", m=0.0, kappa=1e12, nu=3.0, psi=np.eye(2))
        apart = Gaussian("class-feature", m=0.0, kappa=1e12, a=1.0, b=0.5)
        for sign, family in ((1, joint), (-1, apart)):
            found = family.statistics(Z, y, axes)
            total += sign * family.resolve_prior(found).log_evidence(found).sum()
        sums.append((n, *np.cov(X.T, bias=True)[[0, 1, 0], [0, 1, 1]] * n))
    n, first, second, cross = (np.array(values, dtype=float) for values in zip(*sums, strict=True))
    assert log_evidence_of_scatter(n, first, second, cross) == pytest.approx(total, abs=1e-5)


@pytest.mark.parametrize("unit", [1.0, 1e-95, 1e95])
def test_units_and_shifts_do_not_matter_and_gaps_leave_rows_out(unit):
    rng = np.random.default_rng(2)
    y = rng.integers(2, size=80)
    X = rng.normal(size=(80, 3)) + 5 * y[:, None]
    X[:, 1] += X[:, 0] - 5 * y
    X[:7, 1] = np.nan
    found = pairs(pd.DataFrame(X, columns=list("abc")), y).table
    moved = pairs(pd.DataFrame(X * [unit, 1, 1] + [0, 100, 0], columns=list("abc")), y).table
    pd.testing.assert_frame_equal(found, moved)
    line = found.iloc[0]
    assert (line["first"], line["second"], line["rows"]) == ("a", "b", 73)
    whole = pairs(pd.DataFrame(X[7:], columns=list("abc")), y[7:]).table
    # the same but for the sd of "a", which all its rows give
    assert line["log_bayes_factor"] == pytest.approx(whole.iloc[0]["log_bayes_factor"], abs=0.2)


def test_pairs_of_independent_columns_are_seldom_called_dependent():
    """Of 45 pairs of independent columns, over 12 tables, at most one pair a table more than the prior expects."""
    rng, called = np.random.default_rng(5), []
    for _ in range(12):
        X = pd.DataFrame(rng.normal(size=(100, 10))).add_prefix("x")
        for name in ("x0", "x1", "x2"):
            X[name] = pd.cut(X[name], 3, labels=["a", "b", "c"])
        called.append(len(pairs(X, rng.integers(2, size=100)).to_join))
    assert np.mean(called) < 1


def test_a_mixed_pair_and_a_dependence_that_is_not_linear():
    rng = np.random.default_rng(4)
    y, a = rng.integers(2, size=300), rng.permutation(np.linspace(-2, 2, 300))
    X = pd.DataFrame({"a": a, "square": a**2 + 0.1 * rng.normal(size=300), "sign": np.where(a > 0, "+", "-")})
    linear = pairs(X, y)
    assert ("a", "square") not in linear.to_join
    assert ("a", "square") in pairs(X.assign(a=pd.qcut(a, 4).astype(str)), y).to_join
    assert linear.table.set_index(["first", "second"]).loc[("a", "sign"), "kind"] == "mixed"
    assert ("a", "sign") in linear.to_join
    assert linear.blocks == {("a", "sign"): "conditional-gaussian"}
    assert "Join them: bc.NaiveBayes(blocks=bc.dependent_pairs(clf, X, y).blocks)." in repr(linear)
    X.loc[0, "a"] = np.nan
    assert pairs(X, y).blocks == linear.blocks


def test_the_blocks_that_it_names_can_be_fitted_and_help():
    iris = bc.datasets.load("iris")
    clf = bc.NaiveBayes(random_state=1).fit(iris.X, iris.y)
    found = bc.dependent_pairs(clf, iris.X, iris.y)
    joined = bc.NaiveBayes(found.blocks, random_state=1).fit(iris.X, iris.y)
    assert set(found.blocks.values()) == {"multivariate-gaussian"}
    after = bc.dependent_pairs(joined, iris.X, iris.y)
    assert set(after.to_join) == set(found.to_join) - set(found.blocks)
    assert after.blocks == {}  # each column is in a block
    log_proba = [model.predict_log_proba(iris.X, "predictive") for model in (clf, joined)]
    losses = [-own[np.arange(150), np.searchsorted(clf.classes_, iris.y)].mean() for own in log_proba]
    assert losses[1] < losses[0] / 1.5


def test_it_prints_itself_and_is_pickled():
    rng = np.random.default_rng(6)
    y = rng.integers(2, size=60)
    X = pd.DataFrame(rng.integers(2, size=(60, 3)).astype(str), columns=["$a", "<b>", "c"])
    X["<b>"] = X["$a"]
    found = pairs(X, y)
    assert repr(found).startswith("Dependence of 3 pairs of columns given the class\n")
    assert "Taken for independent, but probably dependent given the class: '$a' with '<b>'." in repr(found)
    assert "Prior odds of a pair: 0.67." in repr(found)
    assert "&lt;b&gt;" in found._repr_html_()
    assert repr(pickle.loads(pickle.dumps(found))) == repr(found)
    assert "No two columns" in repr(pairs(X[["$a", "c"]], y))


def test_what_has_no_pairs_is_refused_in_one_sentence():
    X, y = weather(True, rows=50)
    with pytest.raises(Refused, match="LogisticRegression assumes nothing"):
        bc.dependent_pairs(bc.LogisticRegression(inference="map").fit(X, y), X, y)
    documents, labels = ["rain and thunder", "sun"] * 3, [0, 1] * 3
    clf = bc.TextNB(random_state=1).fit(documents, labels)
    with pytest.raises(Refused, match="text and sparse tables"):
        bc.dependent_pairs(clf, documents, labels)
    with pytest.raises(InputError, match="takes a fitted bayesclf classifier"):
        bc.dependent_pairs("nb", X, y)
    wide = np.random.default_rng(1).normal(size=(8, 501))
    with pytest.raises(Refused, match="500 columns at most, but the model uses 501"):
        bc.dependent_pairs(bc.GaussianNB(inference="map").fit(wide, [0, 1] * 4), wide, [0, 1] * 4)


def test_columns_that_do_not_vary_within_the_classes_tell_nothing():
    """Whatever the number of classes and rows: the prior's preference for concentrated tables must not add up."""
    y = np.repeat(list("uvwxy"), 40)
    X = pd.DataFrame({f"c{j}": [f"{label}{j}" for label in y] for j in range(3)} | {"constant": "x"})
    X["varies"] = np.resize(["a", "b", "b"], len(y))
    table = bc.dependent_pairs(bc.NaiveBayes(random_state=0).fit(X, y), X, y).table
    assert (table["log_bayes_factor"] == 0).all()
    assert "constant" not in {*table["first"], *table["second"]}
    counts = np.zeros((3, 2, 2))
    counts[0] = [[9, 1], [2, 8]]
    counts[1, 0] = 20, 5
    counts[2, :, 1] = 5, 20
    assert log_evidence_of_table(counts) == log_evidence_of_table(counts[:1])


def test_missing_is_a_level_where_the_model_has_it_as_one():
    """Categories with gaps are those with a word for a gap, and being missing together is a dependence."""
    rng = np.random.default_rng(2)
    y = rng.integers(2, size=300)
    gaps = rng.random(300) < 0.3
    X = pd.DataFrame({name: pd.Series(rng.choice(["u", "v"], 300)).mask(gaps) for name in ("a", "b")})
    X["c"] = pd.Series(["only"] * 300).mask(gaps)
    X["x"] = pd.Series(rng.normal(size=300)).mask(gaps)
    X["z"] = rng.normal(size=300)
    found = bc.dependent_pairs(bc.NaiveBayes(missing="level", random_state=1).fit(X, y), X, y)
    words = X.assign(**{name: X[name].fillna("none") for name in "abc"})
    spelled = pairs(words[["a", "b", "c", "z"]], y)
    lines = {(line.first, line.second): line for line in found.table.itertuples()}
    for line in spelled.table.itertuples():
        own = lines[line.first, line.second]
        assert own.log_bayes_factor == pytest.approx(line.log_bayes_factor)
        assert own.rows == line.rows == 300
    assert lines["a", "x"].probability > 0.999
    assert lines["a", "x"].rows == 300
    assert lines["x", "z"].rows == 300 - gaps.sum()  # both are compared as numbers
    ignored = {(line.first, line.second): line for line in pairs(X, y).table.itertuples()}
    assert ignored["a", "b"].probability < 0.5
    assert ignored["a", "b"].rows == 300 - gaps.sum()
    assert "c" not in {name for pair in ignored for name in pair}
