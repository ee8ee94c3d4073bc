"""Logistic regression: where its intercept is, published weights."""

import numpy as np
import pytest

import bayesclf as bc

DEGREES = [66, 70, 69, 68, 67, 72, 73, 70, 57, 63, 70, 78, 67, 53, 67, 75, 70, 81, 76, 79, 75, 76, 58]
DISTRESS = [0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1]
"""Temperature of the joints and whether an O-ring was damaged, in the 23 flights before the Challenger's last."""
TEMPERATURE = np.array(DEGREES, dtype=float)[:, None]
WIDE = {"prior_scale": 1e6, "intercept_scale": np.inf}


class TestPublishedWeights:
    """Dalal, Fowlkes & Hoadley (1989), JASA 84, doi:10.1080/01621459.1989.10478858: logit p = 15.043 − 0.2322 t."""

    @pytest.mark.parametrize(
        "options", [{"inference": "mle", "prior_scale": 2.5}, {"inference": "map", **WIDE}], ids=["mle", "wide prior"]
    )
    @pytest.mark.parametrize("intercept_at", ["means", "zero"])
    def test_challenger(self, options, intercept_at):
        clf = bc.LogisticRegression(intercept_at=intercept_at, **options).fit(TEMPERATURE, DISTRESS)
        np.testing.assert_allclose(clf.intercept_, [15.0429], atol=5e-5)
        np.testing.assert_allclose(clf.coef_, [[-0.2322]], atol=5e-5)
        shown = clf.posterior_["mle"]["intercept"].item()
        assert shown == pytest.approx(
            15.0429 if intercept_at == "zero" else 15.0429 - 0.23216 * np.mean(DEGREES), abs=1e-3
        )


def test_an_intercept_at_zero_is_there_in_the_pymc_model_too():
    prior = {"prior_scale": 2.5, "intercept_at": "zero", "intercept_scale": 10.0, "inference": "map"}
    clf = bc.LogisticRegression(**prior).fit(TEMPERATURE, DISTRESS)
    point = {name: clf.posterior_["map"][name].values[0, 0] for name in ("intercept", "epsilon")}
    slope = clf.model_.pymc().compile_dlogp(mode="FAST_COMPILE")(point)
    np.testing.assert_allclose(slope, 0, atol=1e-6)
