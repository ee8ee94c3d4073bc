"""`auto`: exact where there is a closed form, Laplace where it is as good, else chains, and it says which."""

import re
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import log_loss

import bayesclf as bc
from bayesclf.engines import inference, laplace, slices
from bayesclf.engines.inference import FINITE_VARIANCE, Auto, attempt
from bayesclf.errors import ConvergenceWarning, Refused
from bayesclf.models.logistic.density import LogisticDensity

SHORT = bc.engines.Slice(draws=60, tune=20, chains=2)
LAPLACE = bc.engines.Laplace(draws=500, limit=FINITE_VARIANCE)
NOTE = (
    r"the posterior was sampled by Laplace approximation, corrected by importance weights: the draws come from a "
    r"weighted sample that is as accurate as (\d,\d{3}) "
)


@pytest.fixture(scope="module")
def overlapping() -> tuple[Any, Any]:
    """Rows whose posterior is nearly normal."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    return X, np.where(X[:, 0] + rng.logistic(size=200) > 0, "yes", "no")


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of proposals that are requested, one entry per request."""
    asked: list[int] = []
    propose = laplace.propose

    def counted(model: Any, number: int, rng: np.random.Generator, *known: Any) -> laplace.Proposals:
        asked.append(number)
        return propose(model, number, rng, *known)

    monkeypatch.setattr(laplace, "propose", counted)
    return asked


def test_laplace_where_it_is_as_good(overlapping: tuple[Any, Any], sizes: list[int]) -> None:
    clf = bc.LogisticRegression(prior_scale=2.5, inference=Auto(LAPLACE), random_state=3).fit(*overlapping)
    assert clf.inference_ == LAPLACE
    assert sizes[0] == laplace.LEAST_PROPOSALS
    assert 1.5 * 2000 < sizes[1] < 2 * 2000  # nearly all proposals count
    (note,) = clf.notes_
    assert re.fullmatch(NOTE + "independent draws", note)
    stats = clf.posterior_["sample_stats"]
    assert float(stats["pareto_k"]) < FINITE_VARIANCE
    assert float(stats["importance_ess"]) > 2000
    asked_for = bc.LogisticRegression(prior_scale=2.5, inference=LAPLACE, random_state=3).fit(*overlapping)
    assert asked_for.notes_ == []
    np.testing.assert_array_equal(clf.predict_proba(overlapping[0]), asked_for.predict_proba(overlapping[0]))


def test_slices_of_other_models_are_refused_for_what_works() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    with pytest.raises(Refused, match="inference='slice' is for logistic regression; use inference='auto' instead"):
        bc.GaussianNB(inference="slice").fit(X, y)
    assert bc.GaussianNB(inference="auto").fit(X, y).draws_ is not None


@pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")
def test_slices_otherwise(sizes: list[int]) -> None:
    X, y = load_wine(return_X_y=True)
    clf = bc.LogisticRegression(prior_scale=2.5, inference=Auto(slice=SHORT), random_state=3).fit(X, y)
    assert clf.inference_ == SHORT
    assert sizes[:3] == [laplace.LEAST_PROPOSALS, *[laplace.MOVED_PROPOSALS] * 2]
    [note] = clf.notes_
    assert note.startswith("the posterior was sampled by slice sampling, because importance weights would")
    asked_for = bc.LogisticRegression(prior_scale=2.5, inference=SHORT, random_state=3).fit(X, y)
    np.testing.assert_array_equal(clf.predict_proba(X), asked_for.predict_proba(X))


@pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    ("settings", "enough"),
    [
        (bc.engines.Laplace(draws=500, limit=0.5), True),
        (bc.engines.Laplace(draws=500, limit=-1.0), False),
        (bc.engines.Laplace(draws=1, chains=1, limit=0.5), True),
    ],
    ids=["", "k̂ above the limit", "few draws"],
)
def test_the_limit_on_khat(overlapping: tuple[Any, Any], settings: bc.engines.Laplace, enough: bool) -> None:
    model = bc.LogisticRegression(prior_scale=2.5, inference="map").fit(*overlapping).model_
    _, engine, _ = attempt(model, Auto(settings, slice=SHORT), seed=1)
    assert engine == (settings if enough else SHORT)


@pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")
def test_the_effective_number_must_be_that_of_the_draws(sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    model = bc.LogisticRegression(prior_scale=2.5, inference="map").fit(*load_wine(return_X_y=True)).model_
    monkeypatch.setattr(laplace, "HOPELESS", 0.0)
    _, engine, _ = attempt(model, Auto(bc.engines.Laplace(limit=np.inf), slice=SHORT), seed=0)
    assert engine == SHORT
    assert sizes == [laplace.LEAST_PROPOSALS, *[laplace.MOVED_PROPOSALS] * 2, 2 * 16_000]


@pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")
@pytest.mark.parametrize(("classes", "off"), [(4, 0.0), (5, 0.0), (4, 20.0)], ids=["", "many classes", "stuck scale"])
def test_nuts_where_slices_are_worth_less(
    classes: int, off: float, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    y = np.arange(60) % classes
    model = bc.LogisticRegression(inference="map").fit(rng.normal(y[:, None], size=(60, 2)), y).model_
    propose = LogisticDensity._proposed_scales

    def far(density: LogisticDensity, rng: np.random.Generator, steps: int) -> tuple[Any, Any]:
        scales, log_q = propose(density, rng, steps)
        return scales + off * (steps > 1), log_q  # but for the start

    monkeypatch.setattr(LogisticDensity, "_proposed_scales", far)
    short = bc.engines.NUTS(draws=60, tune=20, chains=2)
    _, engine, note = attempt(model, Auto(bc.engines.Laplace(limit=-1.0), short, SHORT), seed=0)
    by_slices = classes == 4 and off == 0
    assert engine == (SHORT if by_slices else short)
    assert note.startswith(f"the posterior was sampled by {'slice sampling' if by_slices else 'NUTS'}, because")


@pytest.fixture
def iris() -> Any:
    """The default model of iris, around whose modes one in a hundred proposals counts."""
    return bc.LogisticRegression(inference="map").fit(*load_iris(return_X_y=True)).model_


def test_proposals_are_placed_where_the_posterior_is(iris: Any) -> None:
    around = laplace.propose(iris, 8_000, np.random.default_rng(0))
    _, pilot = laplace.pilot(iris, np.random.default_rng(0))
    moved = laplace.propose(iris, 8_000, np.random.default_rng(1), pilot.of_z)
    assert not laplace.promises(around)
    assert moved.ess > 5 * around.ess


def test_several_classes_whose_mode_is_near_are_not_propagated(iris: Any) -> None:
    near, _ = laplace.pilot(iris, np.random.default_rng(0))
    assert near is iris


def test_proposals_of_a_scale_that_the_rows_do_not_tell_of() -> None:
    """Labels that columns do not tell of: log s is far from its mode, beside places that are not looked at."""
    rng = np.random.default_rng(440)
    model = bc.LogisticRegression(inference="map").fit(rng.normal(size=(400, 40)), np.arange(400) % 2).model_
    assert laplace.propose(model, 2_000, np.random.default_rng(0)).share > 0.5
    near = model.propagated()
    assert laplace.propose(near, 2_000, np.random.default_rng(0)).share > 0.5
    assert slices.Chains(near.density(), SHORT, 0).moved > 0.7


def test_normals_with_the_moments_of_the_posterior_where_its_mode_is_lost() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    y = X[:, 0] + 0.3 * rng.normal(size=60) > 0
    clf = bc.LogisticRegression(random_state=3).fit(X, y)
    assert "expectation propagation" in clf.notes_[0]
    again = bc.LogisticRegression(inference=clf.inference_, random_state=3).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


@pytest.mark.slow
def test_nuts_begins_around_the_mode_where_expectation_propagation_fails() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 2))
    clf = bc.LogisticRegression(random_state=0).fit(X, X[:, 0] > 0, sample_weight=np.full(40, 1e4))
    assert isinstance(clf.inference_, bc.engines.NUTS)
    assert not clf.convergence_problems_


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")
def test_short_chains_where_longer_ones_would_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws around the mode, of which ten are effective, give the held-out digits a log loss of 0.72."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(y))
    train, test = order[:200], order[1437:]
    clf = bc.LogisticRegression(random_state=1).fit(X[train], y[train])
    assert clf.convergence_problems_[0].startswith("the chains disagree")
    assert clf.inference_ == slices.shortened(clf.model_, bc.engines.Slice())
    assert "short chains of slice sampling" in " ".join(clf.notes_)
    assert log_loss(y[test], clf.predict_proba(X[test])) < 0.5


def test_shortened_chains_take_no_more_than_their_time(iris: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = bc.engines.Slice()
    monkeypatch.setattr(slices, "SHORTENED", slices.work(iris, usual) / 4)
    assert slices.work(iris, slices.shortened(iris, usual)) <= slices.SHORTENED


@pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")
def test_longer_chains_where_these_have_not_converged(iris: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few draws that depend on each other are drawn again with more steps between them, if there is time."""
    short = bc.engines.Slice(draws=100, thin=1)
    found = []
    for most in (slices.work(iris, short), slices.MOST_WORK):
        monkeypatch.setattr(slices, "MOST_WORK", most)
        draws = inference.draw(iris, short, seed=1)
        assert draws is not None
        assert draws.stats is not None
        found.append(int(draws.stats["n_steps"].sum()))
    assert found[1] > 3 * found[0]


def test_exact_where_there_is_a_closed_form(overlapping: tuple[Any, Any]) -> None:
    for engine in ("auto", Auto(slice=SHORT)):
        clf = bc.GaussianNB(inference=engine).fit(*overlapping)
        assert clf.inference_ == bc.engines.Exact()
        assert clf.notes_ == []


def test_unequal_weights_are_a_problem_that_is_told() -> None:
    """Draws that stand for too few are not handed out in silence, where Laplace is requested by itself."""
    X, y = load_wine(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match=r"leave \d+ effective draws \(limit 400\)"):
        clf = bc.LogisticRegression(prior_scale=50.0, inference=bc.engines.Laplace(limit=np.inf), random_state=0).fit(
            X, y
        )
    assert len(clf.convergence_problems_) == 1
    with pytest.raises(Refused, match="the Laplace approximation is not accurate: k̂"):
        bc.LogisticRegression(prior_scale=50.0, inference="laplace", random_state=0).fit(X, y)


def test_too_many_parameters_are_refused_before_their_memory_with_the_engines_that_the_model_has(monkeypatch):
    monkeypatch.setenv("BAYESCLF_MAX_BYTES", "4e8")  # too little for the draws, which fewer of them would not change
    X, y = np.random.default_rng(0).normal(size=(6, 5_000)), [0, 1] * 3
    size = "the model has 5,001 parameters, and chains sample at most 5,000"
    with pytest.raises(Refused, match=rf"^{size}; use inference='map', or fewer columns$"):
        bc.LogisticRegression(inference=bc.engines.NUTS(tune=2_000), prior_scale=1.0).fit(X, y)
