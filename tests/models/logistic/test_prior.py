"""The prior of logistic regression: its settings by column, their checks and names."""

from typing import Any

import numpy as np
import pytest
from helpers.logistic import INF, mixed_model, model_of

from bayesclf.errors import InputError
from bayesclf.models.logistic.model import LogisticPrior


class TestPriorSettings:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"prior_form": "flat"}, "prior_form must be one of 'symmetric', 'reference'"),
            ({"intercept_at": "origin"}, "intercept_at must be one of 'means', 'zero'"),
            ({"prior_mean": np.nan}, "prior_mean must be a finite number"),
            ({"prior_mean": "big"}, "prior_mean must be a finite number"),
            ({"prior_scale": 0.0}, "prior_scale must be above 0"),
            ({"prior_scale": {"x0": INF}}, r"prior_scale\['x0'\] must be above 0 and finite"),
            ({"intercept_mean": INF}, "intercept_mean must be a finite number"),
            ({"intercept_scale": -1.0}, "intercept_scale must be above 0"),
        ],
    )
    def test_values(self, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError, match=message):
            LogisticPrior(**settings)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"prior_scale": np.ones(3)}, r"prior_scale has shape \(3,\); it must be .* array of shape \(2,\)"),
            ({"prior_mean": {"x9": 1.0}}, "prior_mean names 'x9', which no column of the design has"),
            ({"prior_scale": np.ones((2, 2))}, r"prior_scale has shape \(2, 2\)"),
            ({"prior_mean": 1.0}, "has no meaning under a symmetric prior; use prior_form='reference'"),
        ],
    )
    def test_shapes_and_names(self, settings: dict[str, Any], message: str) -> None:
        numbers = np.random.default_rng(0).normal(size=(6, 2))
        with pytest.raises(InputError, match=message):
            model_of(numbers, [0, 1, 2, 0, 1, 2], LogisticPrior(**settings))

    def test_one_class_is_refused(self) -> None:
        with pytest.raises(InputError, match="at least two classes"):
            model_of([[1.0], [2.0]], [0, 0])

    def test_mapping_by_column_and_by_category(self) -> None:
        prior = LogisticPrior(prior_scale={"x0": 1.0, "c0": 0.5, "c0=q": 0.25})
        model = mixed_model(2, prior)
        np.testing.assert_array_equal(model.weight_prior.sd, [5.0, 1.0, 2.5, 2.5, 0.5, 0.25, 0.5])

    def test_names_that_a_fold_may_drop_are_known(self) -> None:
        prior = LogisticPrior(prior_scale={"x0": 1.0, "x0 is missing": 1.0})
        assert model_of(np.full((4, 1), 3.0), [0, 1, 0, 1], prior).design.names == ()
