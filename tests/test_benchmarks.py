"""The benchmarks: a missed goal and a wrong posterior are said, and pages are what results say."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

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
def samplers():
    return import_module("samplers")


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


@pytest.mark.parametrize(("change", "quantity"), [({"shift": 0.4}, "mean"), ({"stretch": 1.4}, "sd")])
@pytest.mark.parametrize("peers", [2, 3])
def test_a_wrong_posterior_is_caught(samplers, change, quantity, peers):
    right = {f"right {seed}": draws(seed) for seed in range(1, peers)}
    said = samplers.disagreements({"wrong": changed(draws(0), **change), **right})
    assert any(sentence.startswith(f"a posterior {quantity} of wrong is ") for sentence in said)
    other = {"mean": "sd", "sd": "mean"}[quantity]
    assert not any(sentence.startswith(f"a posterior {other} of wrong is ") for sentence in said)


def test_the_page_of_held_out_losses_has_the_results():
    held_out = import_module("held_out")
    assert held_out.page() == held_out.PAGE.read_text(encoding="utf-8")


class TestChecks:
    """False alarms and power of `diagnose`, by few simulations of what is cheap."""

    @pytest.fixture
    def checks(self):
        return import_module("checks")

    def test_an_interrupted_run_resumes_and_every_check_is_in_the_table(self, checks, tmp_path, monkeypatch):
        monkeypatch.setattr(checks, "cells", lambda sizes: [checks.Cell("chains", 0), checks.Cell("fault", 30, "M06")])
        results = tmp_path / "checks.jsonl"
        checks.run(1, (30,), results)
        results.write_text(results.read_text() + '{"kind": "cha')  # cut off
        first = checks.read(results)
        assert [line["kind"] for line in first] == ["chains", "fault"]
        assert first[1]["found"] == {"M06": True}
        monkeypatch.setattr(checks.Cell, "simulate", None)
        checks.run(1, (30,), results)  # nothing is left to do
        assert checks.read(results) == first
        simulated = {*checks.FAULTS, *checks.OF_CHAINS, *checks.NOT_SIMULATED}
        assert simulated == set(import_module("bayesclf.diagnostics").CHECKS)
        page = checks.table(first, (30,))
        assert all(f"{code} " in page for code in simulated)

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["numbers", "weights"])
    def test_well_specified_tables_of_few_rows_seldom_have_a_report(self, checks, kind):
        """`docs/checks/false_alarms.md` in small: of 16 tables of 30 rows, at most 20% and three standard errors."""
        reported = [any(checks.Cell(kind, 30).simulate(seed).values()) for seed in range(16)]
        assert np.mean(reported) <= 0.2 + 3 * np.sqrt(0.2 * 0.8 / 16)
