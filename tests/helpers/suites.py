"""Which cases of a test the main suite has."""

import pytest


def mostly_slow(cases, main_suite):
    """Return a mark that runs a test over named cases, of which those that are not in the main suite are slow."""
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(case, id=case.name, marks=() if case.name in main_suite else pytest.mark.slow)
            for case in cases
        ],
    )
