"""The benchmarks of logistic regression: a wrong posterior is caught, and the README's tables are the results'."""

import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
CHAINS, DRAWS, PARAMETERS = 4, 500, 6
AUTOCORRELATION = 0.5


@pytest.fixture(autouse=True, scope="module")
def _scripts():
    """Let the scripts be imported as they import each other, and leave none of them behind."""
    scripts = {path.stem for path in BENCHMARKS.iterdir()}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        yield
    for name in [name for name in sys.modules if name.partition(".")[0] in scripts]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def agreement():
    return import_module("agreement")


@pytest.fixture(scope="module")
def wine():
    """Return the problem of wine's three classes with a prior that scikit-learn can have."""
    problems = import_module("problems")
    return problems.load("wine", problems.Prior(intercept=np.inf, form="symmetric"))


def draws(seed, parameters=PARAMETERS):
    """Return autocorrelated draws (chain, draw, parameter) of one skewed posterior."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((CHAINS, DRAWS, parameters))
    for t in range(1, DRAWS):
        x[:, t] = AUTOCORRELATION * x[:, t - 1] + np.sqrt(1 - AUTOCORRELATION**2) * x[:, t]
    return np.exp(0.3 * x)


def changed(values, shift=0.0, stretch=1.0):
    """Shift and stretch one parameter, in its posterior sds."""
    out = values.copy()
    own = values[..., 2]
    out[..., 2] = own.mean() + stretch * (own - own.mean()) + shift * own.std()
    return out


def test_right_posteriors_agree(agreement):
    found = agreement.compare({f"peer {seed}": draws(seed) for seed in range(3)})
    assert found.disagreements == []
    assert found.parameters == PARAMETERS


@pytest.mark.parametrize(
    ("change", "quantity", "fine"), [({"shift": 0.4}, "mean", "sd"), ({"stretch": 1.4}, "sd", "mean")]
)
@pytest.mark.parametrize("peers", [2, 3])
def test_a_wrong_posterior_is_caught(agreement, change, quantity, fine, peers):
    right = {f"right {seed}": draws(seed) for seed in range(1, peers)}
    found = agreement.compare({"wrong": changed(draws(0), **change), **right})
    assert any(sentence.startswith(f"a posterior {quantity} of wrong is ") for sentence in found.disagreements)
    assert found.largest["wrong"][fine] <= found.bound


def test_the_bound_holds_for_all_comparisons_together(agreement):
    found = agreement.compare({"one": draws(0), "other": draws(1)})
    comparisons = 2 * 2 * PARAMETERS
    below = 1 - 2 * stats.norm.sf(found.bound)
    assert 1 - agreement.FALSE_ALARM <= below**comparisons < 1 - 0.99 * agreement.FALSE_ALARM


@pytest.mark.parametrize("quantity", ["mean", "sd"])
def test_errors_are_as_large_as_they_are_said_to_be(agreement, quantity):
    estimates = [agreement.estimate(draws(seed), quantity) for seed in range(60)]
    z = np.concatenate(
        [
            (one.value - other.value) / np.hypot(one.error, other.error)
            for one, other in zip(estimates[::2], estimates[1::2], strict=True)
        ]
    )
    assert abs(z.std() - 1) < 4 / np.sqrt(2 * len(z))
    pooled = agreement.pool(estimates)
    truth = stats.lognorm(0.3).mean() if quantity == "mean" else stats.lognorm(0.3).std()
    assert np.abs((pooled.value - truth) / pooled.error).max() < 4


@pytest.fixture
def answers(monkeypatch, tmp_path):
    """Start no process: each peer answers with right draws, changed as this mapping says, or fails as it says."""
    fresh = import_module("fresh")
    answers = {"bayesclf": {}, "pymc": {}}

    def run(task, seed, fits):
        answer = answers[task.peer]
        if isinstance(answer, str):
            raise fresh.Failed(answer)
        theta = (2, 14)  # of wine: two vectors of an intercept and 13 weights
        own = list(answers).index(task.peer)
        found = [changed(draws([own, seed, fit], np.prod(theta)), **answer) for fit in range(fits)]
        seconds = 1.0 + own
        return fresh.Measured(0.5, [seconds] * fits, [one.reshape(CHAINS, DRAWS, *theta) for one in found])

    monkeypatch.setattr(fresh, "run", run)
    monkeypatch.setattr(import_module("logistic"), "CACHES", tmp_path)
    return answers


COMMAND = ["--data", "wine", "--peers", "bayesclf,pymc", "--repeats", "2"]


def test_peers_that_agree_end_well(answers, tmp_path, capsys):
    file = tmp_path / "results" / "logistic.json"
    assert import_module("logistic").main([*COMMAND, "--cold", "--json", str(file)]) == 0
    result = json.loads(file.read_text(encoding="utf-8"))
    found = result["tables"]["wine"]
    assert (found["rows"], found["columns"], found["classes"]) == (178, 13, 3)
    assert found["peers"]["pymc"]["fit"] == [2.0, 2.0]
    assert found["peers"]["pymc"]["cold"] == 2.0
    assert found["agreement"]["parameters"] == 28
    assert {"Python", "bayesclf", "nutpie", "pymc"} <= set(result["versions"])
    assert import_module("tables").logistic(result) in capsys.readouterr().out


def test_a_wrong_peer_ends_with_status_1(answers, capsys):
    answers["pymc"] = {"shift": 0.4}
    assert import_module("logistic").main(COMMAND) == 1
    assert "wine: a posterior mean of pymc is " in capsys.readouterr().err


def test_a_peer_that_fails_ends_with_status_1(answers, capsys):
    answers["pymc"] = "over 3 s"
    assert import_module("logistic").main(COMMAND) == 1
    said = capsys.readouterr()
    assert said.err == "wine: pymc over 3 s\n"
    assert "| pymc | over 3 s |" in said.out


@pytest.mark.slow
def test_a_fresh_process_measures_each_fit(wine, tmp_path):
    fresh, sklearn = import_module("fresh"), import_module("peers.sklearn_peer")
    wine.save(tmp_path / "problem.npz")
    task = fresh.Task("sklearn", {"solver": "newton-cholesky"}, tmp_path / "problem.npz", tmp_path, 600.0)
    found = fresh.run(task, seed=0, fits=2)
    here = sklearn.draws(sklearn.fit(wine.X, wine.y, wine.prior, 0, solver="newton-cholesky"))
    assert here.shape == (1, 1, 2, 14)
    assert len(found.fits) == 2
    assert found.imports > 0 < min(found.fits)
    for one in found.draws:
        np.testing.assert_allclose(one, here, rtol=1e-12)
    with pytest.raises(fresh.Failed, match="over 0 s"):
        fresh.run(fresh.Task("sklearn", {}, task.problem, tmp_path, 0.01), seed=0, fits=1)
    with pytest.raises(fresh.Failed, match=r"failed: TypeError: .*unexpected keyword argument 'speed'"):
        fresh.run(fresh.Task("sklearn", {"speed": 1}, task.problem, tmp_path, 600.0), seed=0, fits=1)


@pytest.mark.parametrize("classes", [2, 3])
def test_both_optimizers_reach_the_same_mode(wine, classes):
    script, problems = import_module("logistic_map"), import_module("problems")
    rows = wine.y < classes
    X = wine.X[rows] - wine.X[rows].mean(axis=0)
    found = script.measure(problems.Problem(X, wine.y[rows], wine.prior), 1)["optimizers"]
    assert set(found) == set(script.OPTIMIZERS)
    for name, optimizer in script.OPTIMIZERS.items():
        if optimizer.tight:
            assert found[name]["gradient"] < 10 * script.TIGHT
            assert found[name]["sds"] < script.EQUAL


def test_the_readme_has_the_tables_of_the_results():
    readme = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    assert import_module("tables").rewritten(readme, BENCHMARKS / "results") == readme


class TestChecks:
    """False alarms and power of `diagnose`, by few simulations of what is cheap."""

    @pytest.fixture
    def checks(self):
        return import_module("checks")

    def test_an_interrupted_run_resumes_and_every_check_is_in_the_table(self, checks, tmp_path, monkeypatch):
        monkeypatch.setattr(checks, "cells", lambda sizes: [checks.Cell("chains", 0), checks.Cell("fault", 30, "M06")])
        results = tmp_path / "checks.jsonl"
        checks.run(1, (30,), results, np.inf)
        results.write_text(results.read_text() + '{"kind": "cha')  # cut off
        first = checks.read(results)
        assert [line["kind"] for line in first] == ["chains", "fault"]
        assert first[1]["found"] == {"M06": True}
        monkeypatch.setattr(checks.Cell, "simulate", None)
        checks.run(1, (30,), results, np.inf)  # nothing is left to do
        assert checks.read(results) == first
        simulated = {*checks.FAULTS, *checks.OF_CHAINS, *checks.NOT_SIMULATED}
        assert simulated == set(import_module("bayesclf.diagnostics").CHECKS)
        page = checks.table(first, (30,))
        assert all(f"{code} " in page for code in simulated)

    def test_rates_count_answers_and_any_report_and_leave_faults_apart(self, checks):
        found = [{"M01": False, "Y01": True}, {"M01": False}, {"M01": True, "Y01": True}]
        lines = [{"kind": "numbers", "rows": 30, "check": "", "found": one} for one in found]
        lines.append({"kind": "fault", "rows": 30, "check": "Y01", "found": {"Y01": True}})
        rates = checks.rates(lines)
        assert rates["M01", "numbers", 30, False] == (1, 3)
        assert rates["Y01", "numbers", 30, False] == (2, 2)
        assert rates["any", "numbers", 30, False] == rates["any", checks.TOGETHER, 30, False] == (2, 3)
        assert rates["Y01", "fault", 30, True] == (1, 1)

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["numbers", "weights"])
    def test_well_specified_tables_of_few_rows_seldom_have_a_report(self, checks, kind):
        """`docs/checks/false_alarms.md` in small: of 16 tables of 30 rows, at most 20 % and three standard errors."""
        reported = [any(checks.Cell(kind, 30).simulate(seed).values()) for seed in range(16)]
        assert np.mean(reported) <= 0.2 + 3 * np.sqrt(0.2 * 0.8 / 16)

    def test_separable_tables_are_those_without_a_maximum_likelihood_estimate(self, checks):
        from bayesclf import LogisticRegression
        from bayesclf.errors import DoesNotExist

        for seed in range(8):
            X, y = checks.words(np.random.default_rng(seed), 24)
            clf = LogisticRegression(inference="map").fit(X, y)
            try:
                clf.hypotheses("mle")
                separable = False
            except DoesNotExist:
                separable = True
            assert checks.separable(X, y) == separable


class TestPasses:
    def test_passes_read_all_rows_and_are_measured_next_to_a_scan(self, tmp_path, monkeypatch):
        passes = import_module("passes")
        monkeypatch.setattr(passes.logistic_stream, "KEPT_CELLS", 0)  # restored afterwards
        monkeypatch.setattr(import_module("parquet_tables"), "GROUP", 300)
        folder = tmp_path / "table"
        folder.mkdir()
        passes.TABLE.write(folder, 4000)
        assert len(pd.read_parquet(folder)) == 4000
        read = []
        derivatives_of = passes.derivatives_of

        def counted(theta, part):
            read.append(len(part.X))
            return derivatives_of(theta, part)

        monkeypatch.setattr(passes, "derivatives_of", counted)
        found = passes.newton(folder, 1)
        assert sum(read) == 2 * 4000  # a first pass is left out
        assert found["columns of the design"] == 20 + 10 * 6
        assert found["pass"]["clock"]["ours"] > 0


def test_generated_tables(tmp_path):
    """Files of equal size, each of several row groups, with columns that depend on the label."""
    import pyarrow.parquet as pq

    parquet_tables = import_module("parquet_tables")
    table = parquet_tables.Generated(files=2, classes=3, numbers=2, levels=[2, 5])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_tables, "GROUP", 2_000)
        with table.written(10_001, tmp_path) as (folder, about):
            files = sorted(folder.iterdir())
            assert [file.name for file in files] == ["0.parquet", "1.parquet"]
            assert [pq.ParquetFile(file).metadata.num_row_groups for file in files] == [3, 3]
            frame = pd.concat(pd.read_parquet(file) for file in files)
    assert not folder.exists()
    assert about["rows"] == 10_001
    assert frame.columns.tolist() == ["x0", "x1", "w0", "w1", "y"]
    assert [len(frame[name].unique()) for name in ("w0", "w1", "y")] == [2, 5, 3]
    means = frame.groupby("y")["x1"].mean()
    np.testing.assert_allclose(means, 0.1 * means.index, atol=4.5 / np.sqrt(len(frame) / 3))
    assert len(frame) == len(frame.drop_duplicates()) == 10_000


def some_rows(rows=60):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((rows, 3)), columns=["a", "b", "c"])
    y = np.where(X["a"] - X["b"] + rng.logistic(size=rows) > 0, "yes", "no")
    return X, y
