"""Which cases of a test the main suite has."""

import pytest

SLOW = pytest.mark.slow


def mostly_slow(cases, main_suite):
    """Return a mark that runs a test over named cases, of which those that are not in the main suite are slow."""
    return pytest.mark.parametrize(
        "case",
        [pytest.param(case, id=case.name, marks=() if case.name in main_suite else SLOW) for case in cases],
    )


def mainly(values, *main_suite):
    """Return parameters of a test, each a value or a tuple of them, of which those not named are slow."""
    assert all(value in [*values] for value in main_suite)
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=() if value in main_suite else SLOW)
        for value in values
    ]
