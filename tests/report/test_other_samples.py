"""What a report says of other samples and more rows: the numbers of the functions, where quick or wanted."""

import json

import numpy as np
import pytest
from helpers.pages import Page
from scipy import sparse
from sklearn.datasets import load_iris

import bayesclf as bc
from bayesclf.cli import run
from bayesclf.errors import InputError
from bayesclf.report.classifier_page import render, text
from bayesclf.report.other_samples import ERROR, MEANING, NOT_REPEATABLE, REFITS, of_other_samples, quick
from bayesclf.wording import first_upper

HEADING = "Other samples and more rows"


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def fit(iris):
    return bc.GaussianNB(random_state=3).fit(*iris)


def section(report):
    """Return the sentences of the section, None where the report has none."""
    return next((part.sentences for part in report.parts if part.heading == HEADING), None)


@pytest.mark.usefixtures("unwritten_figures")
def test_a_model_in_closed_form_is_fitted_again_and_its_numbers_are_those_of_the_functions(fit, iris):
    moved = bc.instability(fit, *iris, rule="bayes-optimal", refits=REFITS, random_state=3)
    more = bc.more_rows([fit], *iris, rules=["bayes-optimal"], random_state=3)
    expected = (f"{first_upper(moved.sentence)}.", MEANING, f"{first_upper(more.sentence())}.", ERROR)
    assert section(text(fit, *iris)) == expected
    page = Page(render(fit, *iris))
    for sentence in expected:
        assert sentence in page.words
    assert {"instability", "more-rows"} <= {a.get("id") for tag, a in page.elements if tag == "svg"}


@pytest.fixture
def logistic(iris):
    X, y = iris[0].iloc[::3], iris[1][::3]
    return bc.LogisticRegression(prior_scale=2.5, inference="laplace", random_state=1).fit(X, y), X, y


def test_others_say_what_it_would_take(logistic):
    (offer,) = section(text(*logistic))
    assert "was not computed. It takes 56 fits of about " in offer
    assert offer.endswith("report(…, refits=True), on the command line --refits.")


@pytest.mark.slow
def test_others_do_it_when_told(logistic):
    told = section(text(*logistic, refits=True))
    assert told[0].startswith(f"In {REFITS} samples of as many rows")
    assert section(text(*logistic, refits=False)) is None


def test_large_tables_and_models_without_closed_form_are_not_quick(fit):
    assert quick(fit, 2_500)
    assert not quick(fit, 2_501)
    assert not quick(bc.TextNB(alpha=1.0).fit(["good film", "bad film", "good"], ["p", "n", "p"]), 3)
    X, y = load_iris(return_X_y=True)
    assert not quick(bc.LogisticRegression(prior_scale=2.5, inference="map").fit(X, y), 150)


def test_fits_that_the_rows_do_not_repeat_have_no_such_section(iris):
    X, y = iris
    weighted = bc.GaussianNB(random_state=1).fit(X, y, sample_weight=np.full(150, 0.5))
    held_out = weighted.diagnose(X, y, checks=["Y01"]).held_out
    assert of_other_samples(weighted, X, y, held_out, "bayes-optimal", None) is None
    assert of_other_samples(weighted, X, y, held_out, "bayes-optimal", True).sentences == (NOT_REPEATABLE,)
    counts = bc.MultinomialNB(random_state=1).fit(sparse.csr_array(X.to_numpy()), y)
    held_out = counts.diagnose(sparse.csr_array(X.to_numpy()), y, checks=["Y01"]).held_out
    found = of_other_samples(counts, sparse.csr_array(X.to_numpy()), y, held_out, "bayes-optimal", True)
    assert found.sentences == (NOT_REPEATABLE,)
    assert section(text(weighted)) is None


def test_few_rows_say_why_nothing_is_continued(play_tennis):
    clf = bc.CategoricalNB(alpha=1.0, random_state=1).fit(play_tennis.X, play_tennis.y)
    moved, meaning, reason = section(text(clf, play_tennis.X, play_tennis.y))
    assert moved.startswith(f"In {REFITS} samples")
    assert meaning == MEANING
    assert reason == "What more rows would give cannot be said: at least 32 training rows in a split are needed."


def test_a_mistaken_choice_is_refused(fit, iris, tmp_path):
    with pytest.raises(InputError, match="refits must be"):
        fit.report(tmp_path / "r.md", *iris, refits="yes")


@pytest.mark.slow
def test_the_command_takes_the_choice(tmp_path):
    assert run(["fit", "play_tennis", "--model", "categorical", "--output", str(tmp_path / "m.nc")]) == 0
    command = ["report", str(tmp_path / "m.nc"), "--table", "play_tennis", "--output", str(tmp_path / "m.json")]
    headings = []
    for more in ([], ["--no-refits"]):
        assert run([*command, *more]) == 0
        headings.append([part["heading"] for part in json.loads((tmp_path / "m.json").read_text())["parts"]])
    assert [HEADING in found for found in headings] == [True, False]
