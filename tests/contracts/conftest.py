"""Fits to the common table that several tests only look at."""

from functools import cache

import pytest


@pytest.fixture(scope="session")
def fitted(mixed_table):
    """Return a function that fits a case to the common table, once; its classifiers must not be changed."""

    @cache
    def fit(case):
        return case.make().fit(*case.table(mixed_table))

    return fit
