"""Counts what the examples came to, over all tests and processes, and shows the sums at the end of a run."""

from collections import Counter

import pytest
from helpers.fuzz import Effort

PREFIX = "fuzz "


@pytest.fixture
def effort(request, examples, seed, record_property):
    """Return how many examples the test tries; what came of them is added to the summary of the run."""
    made = Effort(request.path.stem.removeprefix("test_"), examples, seed)
    yield made
    for outcome, number in made.outcomes.items():
        record_property(f"{PREFIX}{made.name}: {outcome}", number)


def pytest_terminal_summary(terminalreporter):
    """Print how many examples of each kind were tried, and what came of them."""
    reports = [report for kind in terminalreporter.stats.values() for report in kind]
    sums = Counter()
    for report in reports:
        if getattr(report, "when", None) == "teardown":
            for name, number in report.user_properties:
                if name.startswith(PREFIX):
                    sums[name.removeprefix(PREFIX)] += number
    for name, number in sorted(sums.items()):
        terminalreporter.write_line(f"{name}: {number:,}")
