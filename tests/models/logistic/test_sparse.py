"""Sparse tables: the likelihood against that of dense rows, and fits against fits of dense tables."""

import numpy as np
import pytest
from models.logistic.test_pymc import point_of
from scipy import sparse

import bayesclf as bc
from bayesclf.errors import InputError
from bayesclf.models.logistic.design import sparse_moments
from bayesclf.models.logistic.likelihood import Likelihood, with_ones

RNG = np.random.default_rng(5)
CELLS = sparse.random_array((40, 6), density=0.4, rng=RNG, format="csr")


def test_the_likelihood_is_that_of_dense_rows_less_the_shift():
    shift, weight, y = np.append(0.0, RNG.normal(size=6)), RNG.random(40), RNG.integers(-1, 2, 40)
    dense = Likelihood(with_ones(CELLS.toarray()) - shift, y, weight, 2)
    sparsely = Likelihood(with_ones(CELLS), y, weight, 2, shift)
    thetas = RNG.normal(size=(3, 2, 7))
    np.testing.assert_allclose(sparsely.values(thetas), dense.values(thetas), rtol=1e-12)
    for found, expected in zip(sparsely.derivatives(thetas[0]), dense.derivatives(thetas[0]), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("unit", [1e-90, 1.0, 1e90])
def test_moments_are_those_of_the_dense_columns(unit):
    cells = CELLS.toarray() * 1e-3
    cells[:, 2], cells[:, 3] = 7.1, 2020 + cells[:, 3]
    cells *= unit
    weight = RNG.random(40)
    mean, sd = sparse_moments(sparse.csr_array(cells), weight)
    np.testing.assert_allclose(mean, np.average(cells, axis=0, weights=weight), rtol=1e-9)
    np.testing.assert_allclose(
        sd, np.sqrt(np.diag(np.cov(cells.T, ddof=0, aweights=weight))), rtol=1e-9, atol=1e-14 * unit
    )
    assert sparse_moments(sparse.csr_array(cells), weight)[1][2] == 0


def table(labels, seed=3):
    rng = np.random.default_rng(seed)
    X = np.round(np.maximum(rng.normal(size=(120, 5)), 0), 2)
    X[:, 3] = 1.0
    return X, np.minimum(rng.integers(labels, size=120) + (X[:, 0] > 1), labels - 1)


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three"])
def fits(request):
    X, y = table(request.param)
    weight = np.random.default_rng(1).integers(0, 3, size=120)
    clf = bc.LogisticRegression(prior_scale=2.5, inference=bc.engines.Laplace(draws=200), random_state=1)
    made = {kind: bc.LogisticRegression(**clf.get_params()).fit(make(X), y, weight) for kind, make in KINDS.items()}
    return made, X, y


KINDS = {"dense": np.asarray, "array": sparse.csr_array, "matrix": sparse.csc_matrix}


class TestFits:
    @pytest.mark.parametrize("rule", bc.rules.RULES)
    @pytest.mark.parametrize("kind", ["array", "matrix"])
    def test_every_rule_answers_as_for_the_dense_table(self, fits, kind, rule):
        made, X, _ = fits
        expected = made["dense"].predict_proba(X, rule=rule)
        for clf, rows in ((made[kind], KINDS[kind](X)), (made[kind], X), (made["dense"], KINDS[kind](X))):
            np.testing.assert_allclose(clf.predict_proba(rows, rule=rule), expected, atol=1e-8)

    def test_intervals_weights_and_notes_too(self, fits):
        made, X, _ = fits
        sparsely, densely = made["array"], made["dense"]
        rows = sparse.csr_array(X)
        np.testing.assert_allclose(sparsely.predict_interval(rows), densely.predict_interval(X), atol=1e-8)
        np.testing.assert_allclose(sparsely.coef_, densely.coef_, atol=1e-8)
        np.testing.assert_allclose(sparsely.intercept_, densely.intercept_, atol=1e-8)
        assert sparsely.notes_ == densely.notes_ == ["column 'x3' has at most one value and contributes nothing"]
        explained = [clf.explain(some[:3]).table["contribution"] for clf, some in ((sparsely, rows), (densely, X))]
        np.testing.assert_allclose(*explained, atol=1e-8)

    def test_the_machine_code_has_the_same_density(self, fits):
        made, *_ = fits
        densities = [made[kind].model_.density() for kind in ("array", "dense")]
        for z in np.random.default_rng(2).normal(size=(3, densities[0].size)):
            (value, slope), (expected, expected_slope) = (density(z) for density in densities)
            zero, expected_zero = (density(np.zeros_like(z))[0] for density in densities)
            np.testing.assert_allclose(value - zero, expected - expected_zero, atol=1e-9)
            np.testing.assert_allclose(slope, expected_slope, atol=1e-8)

    def test_the_pymc_model_too(self, fits):
        made, *_ = fits
        model = made["array"].model_
        dense = made["dense"].model_.pymc().compile_logp(mode="FAST_COMPILE")
        shown = model.shown(model.map())
        page = model.pymc()
        point = point_of(page, {rv.name: shown[rv.name][0] for rv in page.free_RVs})
        assert float(page.compile_logp(mode="FAST_COMPILE")(point)) == pytest.approx(float(dense(point)), rel=1e-11)

    def test_a_saved_model_answers_the_same(self, fits, tmp_path):
        made, X, _ = fits
        made["array"].save(tmp_path / "sparse.nc")
        rows = sparse.csr_array(X)
        again = bc.load(tmp_path / "sparse.nc").predict_proba(rows)
        np.testing.assert_array_equal(again, made["array"].predict_proba(rows))

    def test_left_out_rows(self, fits):
        _, X, y = fits
        clf = bc.LogisticRegression(prior_scale=2.5, inference="map", random_state=1)
        found = [
            clf.fit(make(X[:30]), y[:30]).loo(make(X[:30]), y[:30], "map").elpd
            for make in (sparse.csr_array, np.asarray)
        ]
        np.testing.assert_allclose(*found, rtol=1e-7)


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("boundary", [0.0, 1.0])
def test_separable_classes_are_found(labels, boundary):
    X, y = table(labels)
    X[:, 1] = np.where(y == 0, boundary + 1, boundary * (np.arange(120) % 2))
    reasons = []
    for make in KINDS.values():
        clf = bc.LogisticRegression(prior_scale=2.5, inference="map").fit(make(X), y)
        with pytest.raises(ValueError, match="are separable: weights on 'x1'") as caught:
            clf.predict_proba(X, rule="mle")
        reasons.append(str(caught.value))
    assert len(set(reasons)) == 1


def test_collinear_columns_have_one_estimate():
    X, y = table(2)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    fits = [
        bc.LogisticRegression(prior_scale=2.5, inference="mle").fit(make(X), y)
        for make in (np.asarray, sparse.csr_array)
    ]
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, atol=1e-6)
    assert fits[0].notes_ == fits[1].notes_


def test_missing_cells_and_categories_are_refused():
    X, y = table(2)
    X[4, 1] = np.nan
    with pytest.raises(InputError, match=r"column 'x1' of the sparse table has a missing \(NaN\) value \(row 5\)"):
        bc.LogisticRegression(prior_scale=2.5, inference="map").fit(sparse.csr_array(X), y)
    words = bc.LogisticRegression(prior_scale=2.5, inference="map").fit([["a"], ["b"], ["a"], ["b"]], [0, 1, 1, 0])
    with pytest.raises(InputError, match="column 'x0' is a category, and a sparse table holds numbers only"):
        words.predict(sparse.csr_array([[1.0]]))
