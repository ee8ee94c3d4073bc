"""What the contract tests of families share: marks over the cases, and comparisons."""

import numpy as np
import pytest
from helpers.cases import CASES, CATEGORICAL, EVERY, GAUSSIAN, PRIORS
from helpers.suites import mostly_slow
from pytensor.compile.mode import Mode
from scipy import stats

PYTHON = Mode(linker="py", optimizer="fast_compile")
"""Evaluates a graph without compiling it to machine code: quicker for a handful of calls."""

STANDARD_ERRORS = 5.0
"""A right number is further off once in two million comparisons."""


def ids(cases):
    return {"argvalues": cases, "ids": [case.name for case in cases]}


every_family = pytest.mark.parametrize("case", **ids(EVERY))
every_case = pytest.mark.parametrize("case", **ids(CASES))
every_prior = pytest.mark.parametrize("case", **ids(PRIORS))
MAIN_SUITE = (
    *("categorical α given", "gaussian class-feature", "multivariate gaussian class prior given", "bernoulli α given"),
    *("multinomial α given", "poisson prior given", "exponential prior given", "joint α given", "every tree"),
)
"""Cases of the main suite where a test takes more than a moment: one of each kind of posterior."""
slow_prior = mostly_slow(PRIORS, MAIN_SUITE)
"""Every prior, too; those of other families and variants are slow tests."""
gaussian = pytest.mark.parametrize("case", **ids(GAUSSIAN))
categorical = pytest.mark.parametrize("case", **ids(CATEGORICAL))


def assert_same_parameters(found, expected, **tolerances):
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name].shape == values.shape, name
        np.testing.assert_allclose(found[name], values, err_msg=name, **tolerances)


def chained(alternation, rng, tune, draws):
    """Return parameters by name, the draws of each chain of an alternation after those of the chain before."""
    state, kept = alternation.start(rng), []
    for number in range(tune + draws):
        state = alternation.step(state, rng)
        if number >= tune:
            kept.append(state)
    states = {name: np.stack([state[name] for state in kept], axis=1) for name in kept[0]}
    return alternation.parameters({name: v.reshape(-1, *v.shape[2:]) for name, v in states.items()})


def assert_drawn_from(draws, marginals):
    """Compare independent draws with each parameter's distribution, by its uniform transform."""
    assert draws.keys() == marginals.keys()
    for name, distribution in marginals.items():
        u = distribution.cdf(draws[name]).reshape(len(draws[name]), -1)
        smallest = min(stats.kstest(column, "uniform").pvalue for column in u.T)
        assert smallest > 1e-6 / u.shape[1], name
