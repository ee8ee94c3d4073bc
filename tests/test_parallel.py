"""How many processes are started, whatever number the user gives."""

import joblib
import pytest

import bayesclf as bc
from bayesclf import parallel

X = [[0.1], [0.4], [0.5], [0.9], [1.1], [1.6]]
Y = [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("jobs", [None, 1, 2, 3, 2000, 10**9, -1, -2, -(10**9)])
@pytest.mark.parametrize("tasks", [0, 1, 3, 10**6])
def test_never_more_than_tasks_or_a_multiple_of_the_cores(jobs, tasks):
    found = parallel.processes(jobs, tasks)
    assert 1 <= found <= max(1, tasks)
    assert found <= parallel.JOBS_PER_CORE * joblib.cpu_count()
    if jobs is None or jobs > 0:
        assert found <= (jobs or 1)


@pytest.mark.parametrize("jobs", [0, 2.5, "x", True, [], float("nan")])
def test_what_is_no_number_of_processes(jobs):
    with pytest.raises(bc.errors.InputError, match="n_jobs must be a whole number of at least 1, or −1 for as many"):
        parallel.require_jobs(n_jobs=jobs)


def test_a_comparison_starts_as_many_as_it_has_fits(monkeypatch):
    """Two folds and the fit on all rows are three units."""
    started = []

    def run_here(n_jobs, return_as):
        started.append(n_jobs)
        return lambda tasks: (function(*own, **named) for function, own, named in tasks)

    monkeypatch.setattr(joblib, "Parallel", run_here)
    bc.compare({"nb": bc.GaussianNB(inference="map")}, X, Y, rules=["map"], cv=2, n_jobs=2000)
    assert started == [min(3, parallel.JOBS_PER_CORE * joblib.cpu_count())]
