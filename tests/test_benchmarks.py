"""The benchmarks of logistic regression: a wrong posterior is caught, and the README's tables are the results'."""

import json
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import log_softmax

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


def test_one_wrong_peer_among_many_is_the_farthest(agreement):
    found = agreement.compare({str(seed): changed(draws(seed), shift=0.4 * (seed == 3)) for seed in range(5)})
    assert max(found.largest, key=lambda peer: found.largest[peer]["mean"]) == "3"


def test_a_peer_that_did_not_move_disagrees(agreement):
    stuck = np.broadcast_to(draws(1)[:, :1], (CHAINS, DRAWS, PARAMETERS)).copy()
    assert agreement.compare({"stuck": stuck, "right": draws(0)}).disagreements


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


def test_agreement_takes_two(agreement):
    with pytest.raises(ValueError, match="at least two peers, not 1"):
        agreement.compare({"alone": draws(0)})


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


def test_a_peer_that_is_not_installed_is_left_out(answers, capsys, monkeypatch):
    def versions():
        raise ImportError

    monkeypatch.setattr(import_module("peers.pymc_peer"), "versions", versions)
    assert import_module("logistic").main(COMMAND) == 0
    assert "| pymc | not here |" in capsys.readouterr().out


def test_an_unknown_name_is_told(capsys):
    with pytest.raises(SystemExit):
        import_module("logistic").main(["--peers", "stan"])
    assert "'stan' is not one of bayesclf, bambi" in capsys.readouterr().err


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


def test_imports_inside_a_function_are_timed_once(tmp_path, monkeypatch):
    now = [0.0]
    imports = import_module("imports")
    monkeypatch.setattr(imports, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    monkeypatch.setattr(imports, "now", now, raising=False)
    (tmp_path / "slow_outer.py").write_text("import imports, slow_inner\nimports.now[0] += 3.0\n")
    (tmp_path / "slow_inner.py").write_text("import imports\nimports.now[0] += 4.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with imports.ImportClock() as first:
        import slow_outer
    with imports.ImportClock() as second:
        import slow_outer  # noqa: F401
    assert first.seconds == 7.0
    assert second.seconds == 0.0
    for name in ("slow_outer", "slow_inner"):
        del sys.modules[name]


def test_all_peers_take_the_same_reference_class():
    problems = import_module("problems")
    np.testing.assert_array_equal(problems.reference_first(np.array([0, 1, 1])), [0, 1, 1])
    np.testing.assert_array_equal(problems.reference_first(np.array([0, 1, 2, 3])), [1, 2, 3, 0])


def test_a_problem_is_the_same_after_saving(wine, tmp_path):
    np.testing.assert_allclose(wine.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(wine.X.std(axis=0), 1)
    wine.save(tmp_path / "problem.npz")
    back = import_module("problems").read(tmp_path / "problem.npz")
    assert back.prior == wine.prior
    np.testing.assert_array_equal(back.X, wine.X)
    np.testing.assert_array_equal(back.y, wine.y)


def log_posterior(problem, theta):
    """Return log p(θ, D) up to a constant, from the covariance s²(I + 11ᵀ)/2 of a column's weights."""
    scores = np.column_stack([np.ones(len(problem.X)), problem.X]) @ theta.T
    scores = np.insert(scores, 0 if problem.classes == 2 else scores.shape[1], 0.0, axis=1)
    weights = theta[:, 1:]
    covariance = problem.prior.weight**2 * (np.eye(len(theta)) + 1) / 2
    likelihood = log_softmax(scores, axis=1)[np.arange(len(scores)), problem.y].sum()
    return likelihood - 0.5 * np.sum(weights * np.linalg.solve(covariance, weights))


@pytest.mark.parametrize("classes", [2, 3])
def test_gradient_and_curvature_are_derivatives_of_the_log_posterior(wine, classes):
    script, problems = import_module("logistic_map"), import_module("problems")
    rows = wine.y < classes
    problem = problems.Problem(wine.X[rows], wine.y[rows], problems.Prior(0.7, np.inf, "symmetric"))
    theta = np.random.default_rng(0).normal(size=(classes - 1, 14)) / 5
    steps = 1e-5 * np.eye(theta.size).reshape(-1, *theta.shape)
    slope = [(log_posterior(problem, theta + h) - log_posterior(problem, theta - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(script.gradient(problem, theta).ravel(), slope, rtol=1e-5, atol=1e-5)
    bend = [(script.gradient(problem, theta - h) - script.gradient(problem, theta + h)).ravel() / 2e-5 for h in steps]
    np.testing.assert_allclose(script.curvature(problem, theta), bend, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_both_optimisers_reach_the_same_mode(wine, classes):
    script, problems = import_module("logistic_map"), import_module("problems")
    rows = wine.y < classes
    X = wine.X[rows] - wine.X[rows].mean(axis=0)
    found = script.measure(problems.Problem(X, wine.y[rows], wine.prior), 1)["optimisers"]
    assert set(found) == set(script.OPTIMISERS)
    for name, optimiser in script.OPTIMISERS.items():
        if optimiser.tight:
            assert found[name]["gradient"] < 10 * script.TIGHT
            assert found[name]["sds"] < script.EQUAL


def sampler(fit, ess, **more):
    return {"setting": {}, "imports": [1.0], "fit": fit, "refit": fit, "smallest_ess": ess, "median_ess": ess, **more}


def test_tables_show_medians_and_ratios():
    result = {
        "cores": 2,
        "versions": {"Python": "3.13.0", "bayesclf": "0.1.0"},
        "chains": 4,
        "draws": 1000,
        "repeats": 3,
        "tables": {
            "wine": {
                "rows": 1178,
                "columns": 13,
                "classes": 3,
                "peers": {
                    "bayesclf": sampler([1.0, 2.0, 9.0], [1000.0, 4000.0, 9000.0], cold=20.0),
                    "numpyro": sampler([8.0], [1600.0], setting={"chain_method": "parallel"}, cold=50.0),
                    "pymc": {"failed": "over 9 s"},
                    "rstanarm": {"absent": "n/a"},
                },
                "agreement": {"parameters": 28, "bound": 4.56, "largest": {"a": {"mean": 2.0, "sd": 3.21}}},
            }
        },
    }
    table, agreed, where = import_module("tables").logistic(result).split("\n\n")
    assert table.splitlines()[2:] == [
        "| wine (1,178 × 13, 3 classes) | bayesclf | 2 s (× 1) | 2 s (× 1) | 20 s (× 1) | 1 s | 4,000 (4,000) "
        "| 1,000 (× 1) |",
        "|  | numpyro (chain_method parallel) | 8 s (× 4) | 8 s (× 4) | 50 s (× 2.5) | 1 s | 1,600 (1,600) "
        "| 200 (× 0.2) |",
        "|  | pymc | over 9 s |  |  |  |  |  |",
        "|  | rstanarm | n/a |  |  |  |  |  |",
    ]
    assert len({line.count("|") for line in table.splitlines()}) == 1
    assert "wine 3.2 of 4.6 (28 parameters)" in agreed
    assert "2 cores; Python 3.13.0, bayesclf 0.1.0." in where


def test_only_what_is_between_the_markers_is_rewritten(tmp_path):
    tables = import_module("tables")
    result = {
        "cores": 2,
        "versions": {"bayesclf": "0.1.0"},
        "rows": 48842,
        "columns": 105,
        "engines": {"MAP": {"seconds": [0.0333, 1.0, 0.01], "note": ""}},
    }
    (tmp_path / "logistic_rows.json").write_text(json.dumps(result), encoding="utf-8")
    text = f"before\n{tables.BEGIN}\nold\n{tables.END}\nafter\n"
    new = tables.rewritten(text, tmp_path)
    assert new.startswith(f"before\n{tables.BEGIN}\n\n### ")
    assert new.endswith(f"{tables.END}\nafter\n")
    assert "| MAP | 33 ms (× 1) |  |" in new
    assert "old" not in new
    assert tables.rewritten(new, tmp_path) == new
    with pytest.raises(ValueError, match="the text lacks"):
        tables.rewritten("no markers", tmp_path)


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

    def test_changed_checks_are_repeated_in_what_is_stored(self, checks, tmp_path, monkeypatch):
        results = tmp_path / "checks.jsonl"
        lines = [
            {"kind": "numbers", "rows": 30, "check": "", "seed": 4, "found": {"M05": True, "Y01": True}},
            {"kind": "fault", "rows": 30, "check": "Y02", "seed": 4, "found": {"Y02": True}},
        ]
        results.write_text("".join(json.dumps(line) + "\n" for line in lines))
        asked = []

        def simulate(cell, seed, chosen):
            asked.append((cell, seed, chosen))
            return {"M05": False}

        monkeypatch.setattr(checks.Cell, "simulate", simulate)
        checks.again(["M05"], results)
        assert asked == [(checks.Cell("numbers", 30), 4, ["M05"])]
        assert [line["found"] for line in checks.read(results)] == [{"Y01": True, "M05": False}, {"Y02": True}]

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["numbers", "weights"])
    def test_well_specified_tables_of_few_rows_seldom_have_a_report(self, checks, kind):
        """`docs/checks/false_alarms.md` in small: of 16 tables of 30 rows, at most 20 % and three standard errors."""
        reported = [any(checks.Cell(kind, 30).simulate(seed).values()) for seed in range(16)]
        assert np.mean(reported) <= 0.2 + 3 * np.sqrt(0.2 * 0.8 / 16)

    @pytest.mark.parametrize(("fired", "of", "passes"), [(0, 500, True), (34, 500, True), (35, 500, False)])
    def test_a_check_passes_up_to_two_standard_errors_above_its_level(self, checks, fired, of, passes):
        assert checks.passes(fired, of) == passes

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

    @pytest.mark.slow
    def test_two_workers_are_measured_next_to_one(self, tmp_path, monkeypatch):
        passes = import_module("passes")
        for name in passes.THREADS:
            monkeypatch.setenv(name, "1")
        folder = tmp_path / "table"
        folder.mkdir()
        passes.TABLE.write(folder, 4000)
        found = passes.workers(folder, 1)
        assert set(found) == {"nb", "lr"}
        assert all(line["clock"]["ratio"] > 0 for line in found.values())


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


@pytest.mark.filterwarnings("ignore::FutureWarning:sklearn")  # of the peer, which has its settings by default
def test_fast_posteriors_of_powers_are_those_of_the_package():
    powers, learned_scale = import_module("prior_powers"), import_module("learned_scale")
    X, y = some_rows()
    training, test = np.arange(40), np.arange(40, 60)
    losses, accepted = powers.fold(X, y, training, test, seed=0)
    assert 0 < accepted <= 1
    for way in ("0", "½, 1"):
        scale = learned_scale.bc.LearnedScale(power=powers.WAYS[way][0])
        clf = learned_scale.bc.LogisticRegression(prior_scale=scale, random_state=0).fit(X.iloc[training], y[training])
        own = clf.predict_proba(X.iloc[test])[np.arange(20), np.searchsorted(clf.classes_, y[test])]
        assert np.exp(-losses[way]) == pytest.approx(own, abs=0.03)


def test_the_slope_of_a_fast_posterior_is_that_of_its_density():
    powers = import_module("prior_powers")
    X, y = some_rows()
    fitted = powers.bc.LogisticRegression(prior_scale=1.0, inference="map").fit(X, y).model_
    prior = powers.LogisticPrior(prior_scale=powers.bc.LearnedScale(power=1.0))
    model = powers.LearnedScaleModel(fitted.labels, fitted.design, fitted.X, fitted.y, fitted.sample_weight, prior)
    node = powers.Node.at(model, 0.5, model.objective("mle")[1])
    z, step = np.random.default_rng(1).standard_normal((5, 4)), 1e-5
    value, slope = node.gradient(z)
    assert value == pytest.approx(node.log_density(z))
    ends = [[node.log_density(z + sign * step * direction) for direction in np.eye(4)] for sign in (1, -1)]
    assert slope == pytest.approx((np.subtract(*ends) / (2 * step)).T, abs=1e-6)


def test_differences_to_the_peer_are_averaged_over_rows():
    powers, learned_scale = import_module("prior_powers"), import_module("learned_scale")
    ways = dict.fromkeys(powers.WAYS, np.array([1.0, 2.0]))
    folds = [
        (np.array([0, 1]), {**ways, learned_scale.PEER: np.array([0.5, 1.0])}),
        (np.array([1, 2]), {**ways, learned_scale.PEER: np.array([1.0, 0.0])}),
    ]
    found = powers.summary(folds, 3)["½"]
    assert found["log_loss"] == 1.5
    assert found["difference"] == pytest.approx((0.5 + 0.5 + 2.0) / 3)
    assert found["standard_error"] == pytest.approx(np.std([0.5, 0.5, 2.0], ddof=1) / np.sqrt(3), abs=1e-6)
