"""The PyMC model of logistic regression: its density against NumPy's, and draws of its prior."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.logistic import LEVELS, PRIORS, mixed, mixed_model, model_of
from helpers.suites import mainly

from bayesclf.models.logistic.model import LogisticModel, LogisticPrior


class TestPymc:
    @pytest.mark.parametrize("n_labels", [2, 3])
    @pytest.mark.parametrize("name", PRIORS)
    def test_logp_is_log_posterior(self, n_labels: int, name: str) -> None:
        model = mixed_model(n_labels, PRIORS[name])
        assert_same_density(model)

    @pytest.mark.slow
    @pytest.mark.filterwarnings("ignore:Skipping Assert:UserWarning")
    @pytest.mark.parametrize("name", ["default", "reference, zero"])
    def test_jax_can_compile_it(self, name: str) -> None:
        """Of several classes too, which takes shapes that are known: NumPyro needs it."""
        pytest.importorskip("jax")
        model = mixed_model(3, PRIORS[name])
        point = {parameter: values[0] for parameter, values in model.shown(model.map()).items()}
        logp = float(model.pymc().compile_logp(mode="JAX")(point))
        # JAX computes in single precision, where nobody asks for more.
        assert logp == pytest.approx(float(model.log_posterior(**model.map())[0]), rel=1e-5)

    @pytest.mark.parametrize("n_labels", [2, 3])
    def test_no_rows(self, n_labels: int) -> None:
        design = model_of([[1.0], [2.0]], [0, 1]).design
        model = LogisticModel(
            tuple("abc"[:n_labels]), design, np.zeros((0, 1)), np.zeros(0, dtype=np.intp), np.zeros(0), LogisticPrior()
        )
        assert_same_density(model)
        np.testing.assert_allclose(model.map()["weight"], 0, atol=1e-12)
        np.testing.assert_allclose(model.log_class_prior({}), -np.log(n_labels))

    @pytest.mark.parametrize("n_labels", [2, 3])
    def test_no_columns(self, n_labels: int) -> None:
        y = np.arange(12) % n_labels
        model = model_of(np.zeros((12, 0)), y, weight=np.arange(12.0))
        assert_same_density(model)
        assert model.from_pymc({"intercept": np.zeros((5, n_labels - 1))})["weight"].shape == (5, n_labels - 1, 0)

    @pytest.mark.parametrize("n_labels", mainly([2, 3], 2))
    @pytest.mark.parametrize("form", mainly(["symmetric", "reference"], "symmetric"))
    def test_prior_draws_have_the_priors_moments(self, n_labels: int, form: str) -> None:
        import pymc as pm

        numbers, codes, y, _ = mixed(n_labels)
        prior = LogisticPrior(prior_form=form, prior_mean=0.3, intercept_at="zero")
        model = model_of(numbers, y, prior, codes=codes, levels=LEVELS)
        context = model.pymc()
        assert [rv.name for rv in context.free_RVs] == ["intercept", "weight"]
        draws = 2000
        weight, labels = pm.draw([context["weight"], context["y"]], draws=draws, random_seed=1, mode="FAST_COMPILE")
        z = weight[:, :, 0] * model.design.scale[0]
        assert labels.shape == (draws, len(y))
        assert set(np.unique(labels)) == set(range(n_labels))
        off = 0.5 if form == "symmetric" else 0.0
        correlation = np.eye(n_labels - 1) * (1 - off) + off
        np.testing.assert_allclose(z.mean(axis=0), 0.3, atol=5 * 2.5 / np.sqrt(draws))
        np.testing.assert_allclose(np.cov(z.T), 2.5**2 * correlation.squeeze(), atol=5 * 2.5**2 * np.sqrt(2 / draws))

    def test_signature_ignores_data_and_hyperparameters(self) -> None:
        numbers, codes, y, weight = mixed(3)
        first = model_of(numbers, y, codes=codes, levels=LEVELS, weight=weight)
        second = model_of(numbers[5:], y[5:], LogisticPrior(prior_scale=9.0), codes=codes[5:], levels=LEVELS)
        third = replace(first, prior=LogisticPrior(prior_form="reference"))
        assert first.signature() == second.signature() != third.signature()


def assert_same_density(model: LogisticModel) -> None:
    context = model.pymc()
    logp = context.compile_logp(mode="FAST_COMPILE")
    rng = np.random.default_rng(3)
    vectors, columns = len(model.labels) - 1, len(model.design)
    intercept = rng.normal(size=(4, vectors))
    weight = rng.normal(size=(4, vectors, columns)) / model.design.scale
    ours = model.log_posterior(intercept, weight)
    shown = model.shown({"intercept": intercept, "weight": weight})  # the intercept where its prior is
    np.testing.assert_allclose(model.at_means(**shown), intercept, rtol=0, atol=1e-9)
    for draw in range(4):
        point = {"intercept": shown["intercept"][draw], "weight": weight[draw]}
        if not columns:
            del point["weight"]
        assert [v.name for v in context.value_vars] == list(point)
        assert ours[draw] == pytest.approx(float(logp(point)), rel=1e-11, abs=1e-9)
