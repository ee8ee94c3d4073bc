"""Which cases of a test the main suite has, and which of a slow one continuous integration."""

import pytest

SLOW, NIGHTLY = pytest.mark.slow, pytest.mark.nightly


def mostly_slow(cases, main_suite):
    """Return a mark that runs a test over named cases, of which those that are not in the main suite are slow."""
    return pytest.mark.parametrize(
        "case", [pytest.param(case, id=case.name, marks=() if case.name in main_suite else SLOW) for case in cases]
    )


def mainly(values, *main_suite, others=SLOW):
    """Return parameters of a test, each a value or a tuple of them, of which those not named are slow, or nightly."""
    assert all(value in [*values] for value in main_suite)
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=() if value in main_suite else others)
        for value in values
    ]
