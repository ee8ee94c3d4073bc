"""The report of one fitted classifier: sound, harmless, and what it says is what the checks found."""

import numpy as np
import pandas as pd
import pytest
from pages import IMAGE, SCRIPT, Page, require_pleasant
from sklearn.datasets import load_iris

import bayesclf as bc
from bayesclf.cli import run
from bayesclf.errors import InputError
from bayesclf.report.classifier_page import headline, render


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    data = load_iris(as_frame=True)
    X = data.data.iloc[:, :3].set_axis([SCRIPT, "cost $x$ in $", "日本/a_b^c"], axis=1)
    X["</style><b>"] = np.where(rng.random(150) > 0.5, "'\"><svg onload=alert(2)>", "{{ 7 * 7 }}")
    X.iloc[:5, 3] = None
    return X, np.array([IMAGE, "$a$", "</title></svg>"])[data.target]


@pytest.fixture(scope="module")
def fits(table):
    X, y = table
    nuts = bc.NUTS(draws=600, tune=300)
    models = {
        "nb": bc.NaiveBayes(random_state=1),
        "sampled": bc.LogisticRegression(inference=nuts, random_state=1),
        "point": bc.LogisticRegression(inference="map"),
    }
    return {name: model.fit(X, y) for name, model in models.items()}


@pytest.fixture(scope="module")
def pages(fits, table):
    return {name: render(fit, *table, command="bayesclf report <b>.nc") for name, fit in fits.items()}


@pytest.mark.parametrize("name", ["nb", "sampled", "point"])
def test_the_page_is_sound(pages, name):
    page = Page(pages[name])
    page.require_sound()
    for word in (SCRIPT, IMAGE, "$a$", "cost $x$ in $", "{{ 7 * 7 }}", "bayesclf report <b>.nc"):
        assert word in "".join(page.text)


def test_every_check_has_its_place(pages, fits, table):
    found = fits["nb"].diagnose(*table)
    ids = set(Page(pages["nb"]).values("id"))
    assert {finding.code for finding in found.findings} <= ids
    words = Page(pages["nb"]).words
    assert headline(found) in words
    for finding in (*found.issues, *found.tips):
        assert finding.next_step[1:] in words


def test_a_sampled_posterior_shows_its_chains(pages):
    figures = [attributes["aria-labelledby"] for tag, attributes in Page(pages["sampled"]).elements if tag == "svg"]
    assert {label.partition("-")[0] for label in figures} >= {"forest", "weights", "trace", "rank", "energy"}
    assert "has no chains" not in pages["sampled"]


def test_a_point_estimate_says_that_it_has_no_posterior(pages):
    words = Page(pages["point"]).words
    assert "leaves no posterior" in words


def test_without_rows_checks_are_skipped(fits):
    words = Page(render(fits["nb"])).words
    assert "ive the training rows" in words
    assert "Predictions" not in words


def test_other_rows_are_refused(fits, table, tmp_path):
    X, y = table
    with pytest.raises(InputError):
        fits["nb"].report(tmp_path / "report.html", X.iloc[:, :2], y)
    assert list(tmp_path.iterdir()) == []


def test_the_headline_of_a_healthy_fit():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    X = pd.DataFrame({"a": y + rng.normal(0, 1, 300), "b": y + rng.normal(0, 1, 300)})
    found = bc.GaussianNB(random_state=1).fit(X, y).diagnose(X, y)
    assert headline(found).startswith(f"No issue was found: {len(found.passed)} checks passed")


def test_the_command_writes_it(tmp_path, capsys):
    model, page = tmp_path / "model.nc", tmp_path / "report.html"
    assert run(["fit", "play_tennis", "--model", "categorical", "--output", str(model)]) == 0
    assert run(["report", str(model), "--table", "play_tennis", "--output", str(page)]) == 0
    assert f"report written to {page}" in " ".join(capsys.readouterr().out.split()).replace(" ", " ")
    words = Page(page.read_text(encoding="utf-8")).words
    assert "CategoricalNB" in words
    assert f"bayesclf report {model} --table play_tennis" in words
    assert "14 rows · 4 columns · 2 classes" in words


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--output", "-"], "--output - is not possible for a report"),
        (["--output", "x.html", "--target", "play"], "--target names a column of the training table"),
    ],
)
def test_the_command_says_what_it_lacks(words, complaint, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["fit", "play_tennis", "--model", "categorical", "--output", "model.nc"]) == 0
    assert run(["report", "model.nc", *words]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.browser
@pytest.mark.parametrize("name", ["nb", "sampled"])
def test_a_browser_shows_it_without_complaint(pages, name, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(pages[name], encoding="utf-8")
    require_pleasant(path, tmp_path)
