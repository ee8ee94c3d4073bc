"""Command lines of words that mean something and words that do not: an answer, or one sentence and status 2."""

import contextlib
import io
import os
import shutil
import warnings

import numpy as np
import pytest
from helpers.commands import GOOD
from helpers.fuzz import check_sentence, efforts
from helpers.strategies import mostly, seldom
from hypothesis import strategies as st

from bayesclf.cli import run
from bayesclf.cli.console import BAD_INPUT
from bayesclf.tables import datasets

TABLES = ("t.csv", "words.csv", "play_tennis")
NO_TABLES = (
    "none.csv",
    "empty.csv",
    "folder",
    "model.nc",
    "cost.csv",
    "",
    "-",
    "sklearn:x",
    "bad.csv",
    "one.csv",
    "\x1b[31m",
)
MODELS = ("nb", "gnb", "categorical", "lr", "gda", "tan", "joint", "bernoulli", "multinomial", "text")
SOMEWHERE = ("out.csv", "-", "none/out.csv", "t.csv", "folder", "", "/dev/null/x")
NUMBERS = ("0", "1", "0.5", "-1", "1.5", "nan", "inf", "1e400", "x", "", "٣")
WORDS = (
    "a",
    "b",
    "class",
    "x",
    "",
    "=",
    "a=number",
    "a=category",
    "b=text",
    "class=category",
    "a=",
    "=x",
    "\x1b[2J",
    "-",
)

OPTIONS = {
    "--target": (("class",), WORDS),
    "--drop": (("a",), WORDS),
    "--kind": (("a=number", "b=category"), WORDS),
    "--missing": (("a=0", "b=x"), WORDS),
    "--seed": (("0", "7"), NUMBERS),
    "--rule": (("map", "mean", "gibbs"), ("x", "")),
    "--rules": (("map", "map,mean"), ("x", "", ",", "map,x")),
    "--cv": (("2",), ("1", "0", "x", "1000")),
    "--repeats": (("1",), ("0", "x")),
    "--jobs": (("1",), ("0", "-2", "x")),
    "--reject": (("0.3",), NUMBERS),
    "--cost": (("cost.csv",), NO_TABLES),
    "--json": (("out.json",), SOMEWHERE),
    "--report": ((), SOMEWHERE[2:]),
    "--models": (("nb", "gnb,lr"), ("x", "", ",", "nb,x", "all")),
    "--inference": (("map", "mle", "exact"), ("x", "", "nb=map", "nb=x", "map,mle")),
    "--unlabeled": (("drop", "error"), ("x", "")),
}  # fmt: skip
"""Values of options: usual ones, and others."""
OF = {
    "fit": ("--target", "--inference", "--seed", "--drop", "--kind", "--missing", "--unlabeled"),
    "predict": ("--rule", "--cost", "--reject", "--missing"),
    "compare": (
        "--target", "--rules", "--repeats", "--seed", "--jobs", "--drop", "--kind", "--missing", "--cost",
        "--reject", "--report", "--json", "--models", "--inference",
    ),
}  # fmt: skip
DATASETS = (["list"], ["show", "play_tennis"], ["show", "x"], ["export", "play_tennis"], ["export", "x", "-"], [])
EXPERIMENTS = (["x"], [], ["gibbs-bound", "--seed", "x"], ["gibbs-bound", "--none", "1"])


@st.composite
def command_lines(draw):
    """Return the words of a command line, most of which would work but for one or two words."""
    others = ("datasets", "experiment", "report", "x")
    command = draw(mostly(("fit", "predict", "fit", "predict", "compare"), others))
    table = draw(mostly(TABLES[:1] if command == "predict" else TABLES, NO_TABLES, of=5))
    model = draw(mostly(MODELS[:4], (*MODELS, "x", ""), of=4))
    saved = draw(mostly(("model.nc",), ("t.csv", "x.nc"), of=6))
    predictions = draw(mostly(("out.csv", "-"), SOMEWHERE, of=4))
    words = {
        "fit": [table, "--model", model, "--output", draw(mostly(("out.nc",), SOMEWHERE, of=4))],
        "predict": [saved, table, "--output", predictions],
        "compare": [table, "--cv", draw(mostly(*OPTIONS["--cv"], of=4))],
        "datasets": draw(st.sampled_from(DATASETS)),
        "experiment": draw(st.sampled_from(EXPERIMENTS)),
        "report": ["x.nc", "--output", "out.html"],
        "x": [table],
    }[command]
    for option in draw(st.lists(st.sampled_from(OF.get(command, sorted(OPTIONS))), max_size=3, unique=True)):
        usual, others = OPTIONS[option]
        words = [*words, option, draw(mostly(usual or others, others, of=8))]
    if table.endswith(".csv") and command in ("fit", "compare") and "--target" not in words:
        words = [*words, "--target", "class"]
    if draw(seldom(10)) and words:
        words.pop(draw(st.integers(0, len(words) - 1)))
    return [command, *words]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Run in a folder with tables, good and bad ones, a file of costs, and a model; return its copy for each line."""
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    source = tmp_path / "source"
    (source / "folder").mkdir(parents=True)
    rng = np.random.default_rng(1)
    for name, text in {
        "t.csv": GOOD,
        "words.csv": "sky,class\n" + "".join(f"{'xyz'[rng.integers(3)]},{'pq'[i % 2]}\n" for i in range(12)),
        "empty.csv": "",
        "bad.csv": 'a,b\n1,"2\n',
        "one.csv": "a,class\n1,p\n",
        "cost.csv": ",p,q\np,0,1\nq,2,0\n",
    }.items():
        (source / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(source)
    with contextlib.redirect_stdout(io.StringIO()):
        assert run(["fit", "t.csv", "--target", "class", "--model", "nb", "--output", "model.nc"]) == 0
    return source


def check_line(folder, words):
    """Run a command line in a folder of its own."""
    own = folder.with_name("own")
    shutil.copytree(folder, own)
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    os.chdir(own)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("error")
            status = run(words)
    finally:
        os.chdir(folder)
        shutil.rmtree(own)
    said = err.getvalue()
    assert "Traceback" not in said
    out.flush()
    assert "\x1b" not in said + out.buffer.getvalue().decode()
    if status == 0:
        return "command lines answered"
    assert status == BAD_INPUT
    *notes, sentence, nothing = said.split("\n")
    assert not nothing
    assert all(line.startswith("bayesclf: ") for line in (*notes, sentence))
    check_sentence(sentence)
    return "command lines refused"


@efforts(short=4, ci=30, full=745)
def test_command_lines(folder, effort):
    effort.explore(lambda words: check_line(folder, words), words=command_lines())
