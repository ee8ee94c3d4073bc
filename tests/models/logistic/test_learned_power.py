"""A learned power of the weights' covariance: densities by two routes, its posterior by weighted draws, its mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.logistic import mixed_of_kind, model_of, scaled_points
from scipy.special import logsumexp

import bayesclf as bc
from bayesclf.inference import Laplace
from bayesclf.models.logistic.learned_model import LearnedPowerModel, learns_correlations
from bayesclf.models.logistic.learned_scale import LearnedScale
from bayesclf.models.logistic.prior import LogisticPrior
from bayesclf.typing import Array

INF = float("inf")
POWERS = (0.0, 0.5, 2.0)
TWO = (0.5, 1.0)
PRIORS = {
    "default": LogisticPrior(prior_scale=LearnedScale()),
    "three": LogisticPrior(prior_scale=LearnedScale(0.5, 0.7, power=POWERS)),
    "reference, zero": LogisticPrior(prior_scale=LearnedScale(power=TWO), intercept_at="zero", prior_form="reference"),
    "some given": LogisticPrior(prior_scale=LearnedScale(given={"x1": 0.4, "c0=q": 2.0}, power=POWERS)),
    "free weight": LogisticPrior(prior_scale=LearnedScale(given={"x0": INF}, power=TWO)),
    "free intercept": LogisticPrior(prior_scale=LearnedScale(power=TWO), intercept_scale=INF),
}


def mixed_model(n_labels: int, name: str) -> LearnedPowerModel:
    return mixed_of_kind(LearnedPowerModel, n_labels, PRIORS[name])


@pytest.mark.parametrize(("columns", "power", "expected"), [(2, TWO, True), (1, TWO, False), (2, 0.5, False)])
def test_the_power_matters_for_several_columns_and_several_powers(columns: int, power: Any, expected: bool) -> None:
    X = np.random.default_rng(0).normal(size=(6, columns))
    prior = LogisticPrior(prior_scale=LearnedScale(power=power))
    assert learns_correlations(prior, model_of(X, [0, 1, 0, 1, 0, 1]).design) is expected


@pytest.mark.parametrize(("name", "n_labels"), [("default", 2), *((name, 3) for name in PRIORS)])
def test_densities_agree(name: str, n_labels: int) -> None:
    """log p(θ, log s, λ, D) is that of the model with this λ, less log of their number; PyMC's is summed over λ."""
    model = mixed_model(n_labels, name)
    at, members = scaled_points(model, 6), model.members
    each = np.stack([member.log_posterior(**at) for member in members]) - np.log(len(members))
    for member, own in zip(members, each, strict=True):
        power = np.full(len(own), member.power)
        np.testing.assert_allclose(model.log_posterior(**at, prior_power=power), own, rtol=1e-11)
    of_all = logsumexp(each, axis=0)
    np.testing.assert_allclose(model.log_posterior(**at), of_all, rtol=1e-11)
    theta = {axis: at[axis] for axis in ("intercept", "weight")}
    alone = [member.log_posterior(**theta) for member in members]
    np.testing.assert_allclose(model.log_posterior(**theta), logsumexp(alone, axis=0) - np.log(len(alone)), rtol=1e-11)
    context, shown = model.pymc(), model.shown(at)
    assert {variable.name for variable in context.free_RVs} == {"prior_scale", "intercept", "unscaled_weight"}
    logp = context.compile_logp(mode="FAST_COMPILE")
    times = np.where(model.scale_prior.learned[1:], at["prior_scale"][:, None], 1.0)
    for draw, scale in enumerate(at["prior_scale"]):
        unscaled = at["weight"][draw] / times[draw]
        point = {"prior_scale_log__": np.log(scale), "intercept": shown["intercept"][draw], "unscaled_weight": unscaled}
        jacobian = (n_labels - 1) * np.log(times[draw]).sum()
        assert float(logp(point)) == pytest.approx(of_all[draw] + jacobian, rel=1e-10)
    draws = {"prior_scale": at["prior_scale"], "intercept": shown["intercept"]}
    back = model.from_pymc({**draws, "unscaled_weight": at["weight"] / times[:, None, :]})
    for axis, values in at.items():
        np.testing.assert_allclose(back[axis], values, rtol=1e-11, atol=1e-11)
    assert back.keys() == model.dims().keys()
    assert np.isin(back["prior_power"], model.scale_priors.powers).all()


def test_the_power_is_drawn_from_its_probabilities_given_the_rest() -> None:
    """So NUTS by PyMC's model, which sums over it, has the same joint posterior."""
    model, draws = mixed_model(3, "three"), 20_000
    at = {axis: np.repeat(values[:1], draws, axis=0) for axis, values in scaled_points(model, 6).items()}
    times = np.where(model.scale_prior.learned[1:], at["prior_scale"][:, None], 1.0)
    found = model.from_pymc({**model.shown(at), "unscaled_weight": at["weight"] / times[:, None, :]})["prior_power"]
    one = {axis: values[:1] for axis, values in at.items()}
    log_joint = [model.log_posterior(**one, prior_power=np.array([power]))[0] for power in POWERS]
    expected = np.exp(log_joint - logsumexp(log_joint))
    shares = np.array([np.mean(found == power) for power in POWERS])
    assert (np.abs(shares - expected) <= 4.5 * np.sqrt(expected * (1 - expected) / draws)).all()


def test_prior_draws_have_the_covariance_of_their_power() -> None:
    model = mixed_model(2, "three")
    drawn = model.prior_draw(np.random.default_rng(0), 60_000)
    for member in model.members:
        some = drawn["prior_power"] == member.power
        assert some.mean() == pytest.approx(1 / 3, abs=0.01)
        z = (drawn["weight"] * model.design.scale)[some, 0] / drawn["prior_scale"][some, None]
        own = member.weight_prior.covariance
        expected = np.eye(len(model.design)) if own is None else own.lower @ own.lower.T
        np.testing.assert_allclose(z.T @ z / some.sum(), expected, atol=0.04 * np.diag(expected).max())
    unseen = model.unseen_prior(drawn)
    slope = np.where(drawn["prior_power"] == 0, 1.0, 0.1)
    np.testing.assert_allclose(unseen.scale[:, 0, 0], slope * drawn["prior_scale"], rtol=1e-9)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_the_modes(n_labels: int) -> None:
    """The most probable power, and the mode of the model that has it."""
    model = mixed_model(n_labels, "three")
    alone = [bc.LogisticRegression(prior_scale=LearnedScale(0.5, 0.7, power=power)) for power in POWERS]
    assert [clf.prior_scale.powers for clf in alone] == [(power,) for power in POWERS]
    best = max(model.members, key=lambda member: member.log_evidence())
    mode = model.map()
    assert mode["prior_power"] == [best.power]
    for axis, values in best.map().items():
        np.testing.assert_allclose(mode[axis], values, rtol=1e-8, atol=1e-10)
    assert model.log_evidence() == pytest.approx(
        logsumexp([member.log_evidence() for member in model.members]) - np.log(3), abs=1e-12
    )
    np.testing.assert_array_equal(model.laplace().center, best.laplace().center)
    assert np.abs(model.density()(np.zeros(model.weight_prior.mean.size))[1]).max() < 1e-6


def few_rows(separable: bool) -> tuple[Array, Array]:
    """Rows of four columns that share most of their variance."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(14, 1)) + 0.4 * rng.normal(size=(14, 4))
    score = X.sum(axis=1)
    return X, score > 0 if separable else score + 3 * rng.logistic(size=14) > 0


@pytest.mark.parametrize(
    ("separable", "engine"),
    [
        (False, Laplace(draws=2000)),
        (True, Laplace(draws=2000)),
        pytest.param(True, bc.NUTS(draws=700, progress=False), marks=pytest.mark.slow),
        pytest.param(
            False,
            bc.NUTS(draws=400, tune=400, chains=2, sampler="pymc", progress=False),
            marks=pytest.mark.slow,
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")
def test_the_posterior_is_that_of_weighted_prior_draws(separable: bool, engine: Any) -> None:
    """P(λ | D), log s, the weights and the evidence; priors 0 and 2 have evidences that differ."""
    X, y = few_rows(separable)
    settings = LearnedScale(power=(0.0, 2.0), spread=0.8)
    clf = bc.LogisticRegression(prior_scale=settings, intercept_scale=1.0, inference=engine, random_state=1).fit(X, y)
    model: Any = clf.model_
    prior = model.prior_draw(np.random.default_rng(0), 400_000)
    at = {axis: prior[axis] for axis in ("intercept", "weight")}
    log_likelihood = model.given(1.0).log_posterior(**at) - model.given(1.0).log_prior(prior)["weights"]
    log_likelihood -= model._log_units
    weight = np.exp(log_likelihood - logsumexp(log_likelihood))
    log_evidence = logsumexp(log_likelihood) - np.log(len(weight))
    assert model.log_evidence() == pytest.approx(log_evidence, abs=0.3)  # Laplace's, of 14 rows
    drawn = clf.draws_.parameters
    effective = min(1 / np.sum(weight**2), len(drawn["prior_scale"]) / 8)
    for values, found in (
        (prior["prior_power"], drawn["prior_power"]),
        (np.log(prior["prior_scale"]), np.log(drawn["prior_scale"])),
        *zip(prior["weight"][:, 0].T, drawn["weight"][:, 0].T, strict=True),
    ):
        mean = weight @ values
        sd = np.sqrt(weight @ (values - mean) ** 2)
        assert abs(found.mean() - mean) < 4.5 * sd / np.sqrt(effective)
        assert found.std() == pytest.approx(sd, rel=6 / np.sqrt(effective))
    assert not separable or weight @ (prior["prior_power"] == 2) > 0.6
