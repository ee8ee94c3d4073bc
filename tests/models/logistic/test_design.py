"""The design matrix, and duplicate rows merged into one with the sum of their weights, which changes no result."""

from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from helpers.effort import calls
from helpers.logistic import LEVELS, encoded, mixed, mixed_model, model_of

import bayesclf as bc
from bayesclf.errors import DoesNotExist
from bayesclf.models.logistic import design
from bayesclf.models.logistic.design import LogisticDesign, WeightedRows
from bayesclf.models.logistic.model import LogisticPrior
from bayesclf.tables.columns import Column, Rows


class TestDesign:
    def test_columns_in_their_order(self) -> None:
        numbers = np.array([[1.0, 7.0, np.nan, np.nan], [3.0, 7.0, 2.0, np.nan], [8.0, 7.0, 6.0, np.nan]])
        codes = np.array([[0, 1], [1, -1], [0, 0]])
        weight = np.array([1.0, 2.0, 1.0])
        known = [Column(name, "number") for name in ("age", "same", "gappy", "empty")]
        known += [Column("k", "category", ("u", "v")), Column("l", "category", ("s", "t"))]
        design = LogisticDesign.fit(numbers, weight, tuple(known))
        assert design.names == ("age", "gappy", "gappy is missing", "k=u", "k=v", "l=s", "l=t")
        assert design.features == ("age", "gappy", "gappy is missing", "k", "k", "l", "l")
        assert design.constant == ("same", "empty")
        mean, sd = 15 / 4, np.sqrt((1 + 2 * 9 + 64) / 4 - (15 / 4) ** 2)
        np.testing.assert_allclose(design.centre, [mean, 10 / 3, 0, 0, 0, 0, 0])
        np.testing.assert_allclose(design.scale[0], sd)
        np.testing.assert_array_equal(design.scale[2:], 1)
        X = design.matrix(Rows((numbers, codes), 3))
        np.testing.assert_allclose(X[:, 0], (numbers[:, 0] - mean) / sd)
        np.testing.assert_array_equal(X[0, 1:], [0, 1, 1, 0, 0, 1])
        np.testing.assert_array_equal(X[1, 2:], [0, 0, 1, 0, 0])

    def test_weights_are_repetition_and_zero_is_absence(self) -> None:
        rng = np.random.default_rng(0)
        numbers = rng.normal(size=(6, 2)) + 1e6
        numbers[5] = np.nan
        times = np.array([1, 2, 3, 1, 2, 0])
        known = Column("a", "number"), Column("b", "number")
        weighted = LogisticDesign.fit(numbers, times.astype(float), known)
        repeated = LogisticDesign.fit(np.repeat(numbers, times, axis=0), np.ones(9), known)
        assert weighted.names == repeated.names == ("a", "b")
        np.testing.assert_allclose(weighted.centre, repeated.centre, rtol=1e-15)
        np.testing.assert_allclose(weighted.scale, repeated.scale, rtol=1e-12)

    @pytest.mark.parametrize("value", [0.1, 1e6 + 0.1, -1e100, 0.0])
    def test_a_constant_column_is_constant(self, value: float) -> None:
        assert model_of(np.full((7, 1), value), [0, 1, 0, 1, 1, 0, 1]).design.constant == ("x0",)

    def test_missing_number_is_the_mean_and_missing_category_nothing(self) -> None:
        model = mixed_model(2)
        assert model.design.names == ("x0", "x1", "x1 is missing", "c0=p", "c0=q", "c0=r")
        point = model.map()
        rows = encoded([[np.nan, np.nan], [50.0, -2.0]], [[-1], [1]])
        scores = model.log_scores(rows, point)[0, :, 1]
        assert scores[0] == pytest.approx(point["intercept"][0, 0] + point["weight"][0, 0, 2], abs=1e-12)
        expected = (
            point["intercept"][0, 0]
            + ((np.array([50.0, -2.0]) - model.design.centre[:2]) @ point["weight"][0, 0, :2])
            + point["weight"][0, 0, 4]
        )
        assert scores[1] == pytest.approx(expected, rel=1e-12)

    def test_unseen_level_has_the_priors_weight(self) -> None:
        prior = LogisticPrior(prior_mean={"c0": 0.7}, prior_scale={"c0": 0.2}, prior_form="reference")
        model = mixed_model(3, prior)
        seen, unseen = encoded([[50.0, -2.0]], [[-1]]), encoded([[50.0, -2.0]], [[-2]])
        shift = model.log_scores(unseen, model.map()) - model.log_scores(seen, model.map())
        np.testing.assert_allclose(shift[0, 0], [0.7, 0.7, 0.0], atol=1e-12)
        drawn = model.weight_prior.draw_levels(np.random.default_rng(0), np.ones(20_000))
        assert drawn.shape == (20_000, 2, 1)
        np.testing.assert_allclose(drawn.mean(axis=0), 0.7, atol=5 * 0.2 / np.sqrt(20_000))
        np.testing.assert_allclose(np.cov(drawn[:, :, 0].T), 0.04 * np.eye(2), atol=0.002)
        with_draw = model.log_scores(unseen, {**model.map(), "unseen": drawn[:1]})
        np.testing.assert_allclose(with_draw[0, 0, :2] - model.log_scores(seen, model.map())[0, 0, :2], drawn[0, :, 0])

    def test_unseen_weight_averages_array_priors_over_the_levels(self) -> None:
        numbers, codes, y, weight = mixed(2)
        means = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 6.0])
        model = model_of(numbers, y, LogisticPrior(prior_mean=means), codes=codes, levels=LEVELS, weight=weight)
        np.testing.assert_allclose(model.weight_prior.unseen_mean, [[3.0]])

    def test_category_without_a_single_level(self) -> None:
        model = model_of(np.zeros((4, 0)), [0, 1, 0, 1], LogisticPrior(prior_mean=0.5), codes=[[-1]] * 4, levels=((),))
        assert model.design.names == ()
        np.testing.assert_array_equal(model.weight_prior.unseen_mean, [[0.5]])


def rows_of(numbers, codes, y, weight) -> WeightedRows:
    return WeightedRows(Rows((np.array(numbers), np.array(codes)), len(y)), np.array(y), np.array(weight))


@pytest.fixture(scope="module")
def many() -> WeightedRows:
    """400 rows of about 100 kinds: numbers with gaps, codes with missing ones, two labels."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 3, (400, 2)) * 0.1
    numbers[rng.random((400, 2)) < 0.2] = np.nan
    return rows_of(numbers, rng.integers(-1, 2, (400, 1)), rng.integers(0, 2, 400), rng.uniform(0.1, 2, 400))


def kinds(training: WeightedRows) -> dict[tuple[str, ...], float]:
    """The weight of each kind of row, by a dictionary."""
    out: dict[tuple[str, ...], float] = defaultdict(float)
    for row, (label, weight) in enumerate(zip(training.y, training.weight, strict=True)):
        cells = [str(cell) for part in training.rows.parts for cell in part[row]]
        out[(str(label), *cells)] += weight
    return out


def test_weights_of_duplicate_rows_add_up(many: WeightedRows) -> None:
    merged, expected = many.merged(), kinds(many)
    assert len(merged.rows) == len(merged.y) == len(merged.weight) == len(expected) < len(many.rows)
    # A dictionary keeps its keys in the order in which they first came.
    assert list(kinds(merged)) == list(expected)
    np.testing.assert_allclose(list(kinds(merged).values()), list(expected.values()), rtol=1e-13)


def test_negative_zero_is_zero() -> None:
    assert len(rows_of([[0.0], [-0.0]], np.zeros((2, 0)), [1, 1], [1.0, 1.0]).merged().rows) == 1


@pytest.mark.parametrize("repeated", [0, 1])
def test_few_duplicate_rows_stay(repeated: int) -> None:
    x = np.arange(20.0)[:, None]
    x[:repeated] = 1.0
    training = rows_of(x, np.zeros((20, 0)), np.zeros(20, dtype=int), np.ones(20))
    assert training.merged() is training


@pytest.mark.parametrize("distinct", [30, 1000])
def test_a_large_table_is_not_merged_row_by_row(distinct: int) -> None:
    rng = np.random.default_rng(1)
    numbers, codes = rng.integers(0, distinct, (50_000, 6)) * 0.5, rng.integers(0, 9, (50_000, 8))
    codes[:25_000], numbers[:25_000] = codes[25_000:], numbers[25_000:]
    training = rows_of(numbers, codes, np.tile(rng.integers(0, 2, 25_000), 2), np.ones(50_000))
    assert len(training.merged().rows) == 25_000
    assert calls(training.merged) < 5_000


LABELS = {2: ["no", "yes"], 3: ["a", "b", "c"]}


def table(n_labels: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """300 rows of some 60 kinds, with gaps in a number and in a category, overlapping classes and weights."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": rng.integers(0, 4, 300) * 10.0, "z": rng.integers(0, 2, 300) * 1e-3})
    X["k"] = rng.choice(["u", "v", "w"], 300)
    y = np.array(LABELS[n_labels])[rng.integers(0, n_labels, 300)]
    X.loc[rng.random(300) < 0.1, "x"] = np.nan
    X.loc[rng.random(300) < 0.1, "k"] = None
    return X, y, rng.integers(1, 5, 300).astype(float)


@pytest.mark.parametrize("weights", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("n_labels", LABELS)
class TestLogisticRegression:
    @pytest.fixture
    def fits(self, n_labels: int, weights: bool, monkeypatch: pytest.MonkeyPatch) -> list[bc.LogisticRegression]:
        """The merged fit and the one of all rows."""
        X, y, weight = table(n_labels)
        out = [bc.LogisticRegression(prior_scale=2.5, inference="map").fit(X, y, weight if weights else None)]
        monkeypatch.setattr(design, "WORTHWHILE", 0.0)
        out.append(bc.LogisticRegression(prior_scale=2.5, inference="map").fit(X, y, weight if weights else None))
        assert len(out[0].model_.X) < 200
        assert len(out[1].model_.X) == 300
        return out

    def test_points(self, fits: list[bc.LogisticRegression]) -> None:
        for name in ("mle", "map"):
            merged, whole = (getattr(fit.model_, name)() for fit in fits)
            for parameter, values in whole.items():
                scale = np.append(1.0, fits[0].model_.design.scale)[-values.shape[-1] :]
                np.testing.assert_allclose(merged[parameter] * scale, values * scale, rtol=1e-8, atol=1e-8)

    def test_laplace_approximation(self, fits: list[bc.LogisticRegression]) -> None:
        merged, whole = (fit.model_.lattice for fit in fits)
        np.testing.assert_allclose(merged.modes, whole.modes, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(merged.roots, whole.roots, rtol=1e-8, atol=1e-8)


def test_separation_is_found_in_merged_rows() -> None:
    X, y = np.repeat([[0.0], [1.0], [1.0], [2.0]], 5, axis=0), np.repeat(["a", "a", "b", "b"], 5)
    clf = bc.LogisticRegression(prior_scale=2.5, inference="map").fit(X, y)
    assert len(clf.model_.X) == 4
    with pytest.raises(DoesNotExist, match="are separable"):
        clf.predict(X, rule="mle")
