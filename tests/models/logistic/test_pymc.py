"""The PyMC model of logistic regression: its density against NumPy's, and draws of its prior."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.logistic import LEVELS, PRIORS, mixed, mixed_model, model_of
from helpers.suites import mainly

from bayesclf.arrays import Array
from bayesclf.errors import Refused
from bayesclf.models.logistic.model import LogisticModel, LogisticPrior
from bayesclf.models.logistic.prior import against_reference


class TestPymc:
    @pytest.mark.parametrize("n_labels", [2, 3])
    @pytest.mark.parametrize("name", PRIORS)
    def test_logp_is_log_posterior(self, n_labels: int, name: str) -> None:
        model = mixed_model(n_labels, PRIORS[name])
        model = replace(model, sample_weight=np.ceil(model.sample_weight))
        if model.weight_prior.flat:
            with pytest.raises(Refused, match="a PyMC model has no flat prior; give intercept_scale a number"):
                model.pymc()
        else:
            assert_same_density(model)

    @pytest.mark.slow
    @pytest.mark.filterwarnings("ignore:Skipping Assert:UserWarning")
    @pytest.mark.parametrize("name", ["default", "reference, zero"])
    def test_jax_can_compile_it(self, name: str) -> None:
        """Of several classes too, which takes shapes that are known: NumPyro needs it."""
        pytest.importorskip("jax")
        model = mixed_model(3, PRIORS[name])
        model = replace(model, sample_weight=np.ceil(model.sample_weight))
        from pymc.model.transform.optimization import freeze_dims_and_data

        context = freeze_dims_and_data(model.pymc())  # as PyMC does for NumPyro
        point = point_of(context, {parameter: values[0] for parameter, values in model.shown(model.map()).items()})
        # JAX computes in single precision, where nobody asks for more.
        assert float(context.compile_logp(mode="JAX")(point)) == pytest.approx(
            float(context.compile_logp(mode="FAST_COMPILE")(point)), rel=1e-5
        )

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
        outcomes = len(model.coords()["outcome"])
        found = model.from_pymc({"intercept": np.zeros((5, outcomes)), "epsilon": np.zeros((5, 0, outcomes))})
        assert found["weight"].shape == (5, outcomes, 0)

    @pytest.mark.parametrize("n_labels", mainly([2, 3], 2))
    @pytest.mark.parametrize("form", mainly(["symmetric", "reference"], "symmetric"))
    def test_prior_draws_have_the_priors_moments(self, n_labels: int, form: str) -> None:
        import pymc as pm

        numbers, codes, y, _ = mixed(n_labels)
        mean = 0.3 if form == "reference" or n_labels == 2 else 0.0
        prior = LogisticPrior(prior_form=form, prior_mean=mean, intercept_at="zero")
        model = model_of(numbers, y, prior, codes=codes, levels=LEVELS)
        context = model.pymc()
        draws = 2000
        weight, labels = pm.draw([context["weight"], context["y"]], draws=draws, random_seed=1, mode="FAST_COMPILE")
        z = against_reference(weight, model.symmetric, axis=1)[:, :, 0] * model.design.scale[0]
        assert labels.shape == (draws, len(y))
        assert set(np.unique(labels)) == set(range(n_labels))
        off = 0.5 if form == "symmetric" else 0.0
        correlation = np.eye(n_labels - 1) * (1 - off) + off
        np.testing.assert_allclose(z.mean(axis=0), mean, atol=5 * 2.5 / np.sqrt(draws))
        np.testing.assert_allclose(np.cov(z.T), 2.5**2 * correlation.squeeze(), atol=5 * 2.5**2 * np.sqrt(2 / draws))


def point_of(context: Any, found: Mapping[str, Array]) -> dict[str, Array]:
    """Return the values of a PyMC model's free variables, of which zero-sum ones lack the last of their transform."""
    import pytensor.tensor as pt

    point = {}
    for rv in context.free_RVs:
        transform, value = context.rvs_to_transforms[rv], np.asarray(found[rv.name], dtype=float)
        if transform is not None:
            value = np.asarray(transform.forward(pt.as_tensor(value), *rv.owner.inputs).eval())
        point[context.rvs_to_values[rv].name] = value
    return point


def assert_same_density(model: LogisticModel) -> None:
    """Between two points the log density differs by as much as ours, whatever the variables of the model are."""
    context = model.pymc()
    logp = context.compile_logp(mode="FAST_COMPILE")
    rng = np.random.default_rng(3)
    theta = rng.normal(size=(4, len(model.labels) - 1, 1 + len(model.design)))
    parameters = model.hypotheses(theta)
    ours = model.log_posterior(**parameters)
    shown = model.shown(parameters)  # the intercept where its prior is
    back = model.at_means(shown["intercept"], shown["weight"])
    np.testing.assert_allclose(back, parameters["intercept"], rtol=0, atol=1e-9)
    names = [rv.name for rv in context.free_RVs]
    assert names == ["epsilon", "intercept"]
    for name, values in model.from_pymc({name: shown[name] for name in names}).items():
        np.testing.assert_allclose(values, parameters[name], rtol=1e-9, atol=1e-9)
    theirs = [float(logp(point_of(context, {name: shown[name][draw] for name in names}))) for draw in range(4)]
    np.testing.assert_allclose(np.diff(theirs), np.diff(ours), rtol=1e-10, atol=1e-9)
