"""The README's commands and snippets run as they are printed, in their order, in one folder.

A block that cannot is marked in the README, right above it: ``<!-- not run by the tests: reason -->``.
"""

import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from helpers.documents import ROOT, blocks

import bayesclf as bc
from bayesclf.tables import datasets

MOST_SECONDS = 1800

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = blocks(README)
RUN = [block for block in BLOCKS if block.reason is None]


def test_blocks_that_are_not_run_say_why():
    said = {block.commands[0].split("  ")[0]: block.reason for block in BLOCKS if block.reason}
    assert said == {"pip install -c constraints.txt .": "it installs the package, as .ci/run does with the wheel"}


def made_up_table(rows):
    """Return rows of four numbers and two classes."""
    rng = np.random.default_rng(1)
    positive = rng.random(rows) < 0.4
    cells = {
        name: (rng.normal(50, 10, rows) + 10 * positive).round(1) for name in ("age", "mass", "pressure", "glucose")
    }
    return pd.DataFrame({**cells, "class": np.where(positive, "positive", "negative")})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with what the README's commands need: the demo's script with its .venv, and the user's files."""
    folder = tmp_path_factory.mktemp("readme")
    for name in ("tasks.py", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    scripts = folder / ".venv" / "bin"
    scripts.mkdir(parents=True)
    command = f'#!/bin/sh\nexec "{sys.executable}" -c "from bayesclf.cli import main; main()" "$@"\n'
    for name, text in (("bayesclf", command), ("python3", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')):
        (scripts / name).write_text(text)
        (scripts / name).chmod(0o755)
    (folder / ".venv" / ".installed-project").touch()  # newer than the copies: there is nothing left to install
    made_up_table(120).to_csv(folder / "mine.csv", index=False)
    return folder


def run(arguments, folder):
    """Run a command in the folder, without the user's tables."""
    environment = {name: value for name, value in os.environ.items() if name != datasets.FOLDER_VARIABLE}
    environment["PATH"] = f"{folder / '.venv' / 'bin'}{os.pathsep}{environment['PATH']}"
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), environment.get("PYTHONPATH")]))
    environment["MPLBACKEND"] = "agg"
    return subprocess.run(
        arguments, cwd=folder, env=environment, capture_output=True, text=True, timeout=MOST_SECONDS, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("block", RUN, ids=lambda block: block.code.split("\n")[0].split("  ")[0])
def test_a_block_runs_as_printed(block, folder):
    if block.language == "python":
        done = run([sys.executable, "-c", block.code], folder)
        assert done.returncode == 0, done.stderr
        assert done.stdout
        return
    for line in block.commands:
        done = run(["bash", "-c", line], folder)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        left = ["report.html"] if "tasks.py demo" in line else []
        for name in (*left, *re.findall(r"--(?:output|report|figure) (\S+)", line)):
            assert (folder / name).stat().st_size > 0, line


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")
@pytest.mark.parametrize(("scale", "least", "most"), [("learned", 0.55, 0.77), (2.5, 0.65, 0.88)])
def test_averaging_leaves_most_of_the_over_confidence_where_the_model_is_true(scale, least, most):
    over = {"map": [], "bayes-optimal": []}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        weights = rng.normal(0, 0.5, 20)
        X = rng.normal(size=(3060, 20))
        y = (rng.random(3060) < 1 / (1 + np.exp(-X @ weights))).astype(int)
        clf = bc.LogisticRegression(prior_scale=scale, random_state=seed).fit(X[:60], y[:60])
        for rule, excess in over.items():
            proba = clf.predict_proba(X[60:], rule=rule)
            excess.append(proba.max(axis=1).mean() - (proba.argmax(axis=1) == y[60:]).mean())
    assert least < np.mean(over["bayes-optimal"]) / np.mean(over["map"]) < most
