"""Results print themselves in a few lines, whatever the user's table holds and however large it is."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.pages import Page
from sklearn.datasets import load_iris

import bayesclf as bc
from bayesclf.display import MOST_LINES, WIDTH, Display
from bayesclf.evaluation.cross_validation import Answers
from bayesclf.experiments.runner import Figure, Outcome
from bayesclf.tables.datasets import Dataset

MOST = MOST_LINES + 13
"""Lines of any display: a headline, a table, and a few sentences."""

HOSTILE = "<script>alert('x')</script> & \n\x1b[31m 𝛼 " + "long " * 60
"""A name from a table that should not act, end a line, or fill the screen."""


@pytest.fixture(scope="module")
def table():
    """Return 200 rows of 40 columns and 5 classes, all with hostile names."""
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=200)
    X = pd.DataFrame(rng.normal(size=(200, 40)) + y[:, None], columns=[f"{HOSTILE}{j}" for j in range(40)])
    return X, np.array([f"{HOSTILE}{k}" for k in range(5)])[y]


@pytest.fixture(scope="module")
def results(table):
    """Return each kind of result."""
    X, y = table
    clf = bc.GaussianNB("feature", random_state=1).fit(X, y)
    models = {f"{HOSTILE}{k}": bc.GaussianNB(inference="map") for k in range(9)}
    return {
        "comparison": bc.compare(models, X, y, rules=["map", "mle", "bayes-optimal"], cv=2, repeats=1),
        "with costs": bc.compare({"nb": bc.GaussianNB()}, X, y, ["map", "gibbs"], cv=2, repeats=1, reject=0.3),
        "explanation": clf.explain(X),
        "explanation of one row": clf.explain(X[:1]),
        "explanation without intervals": clf.explain(X[:1], rule="map"),
        "prediction sets": clf.predict_set(X),
        "uncertainty": clf.uncertainty(X),
        "implied logistic": clf.to_logistic(),
        "implied by a point": bc.GaussianNB("feature", inference="map").fit(X, y).to_logistic(),
        "learning curve": bc.learning_curve(models, X, y, ["map", "bayes-optimal"], sizes=[20, 50, 100], cv=2),
        "trace": bc.LogisticRegression(prior_scale=2.5, inference=bc.engines.MAP(bc.engines.Newton())).fit(X, y).trace_,
        "diagnosis": clf.diagnose(checks=["P01", "P08"]),
        "data set": Dataset(HOSTILE, X.assign(label=y), "label", HOSTILE, "here"),
        "outcome": Outcome(X, (HOSTILE,) * 4, X, Figure("", "", lambda: None), Path("folder")),
    }


def test_their_texts_have_few_and_short_lines(results):
    for kind, result in results.items():
        lines = repr(result).split("\n")
        assert 1 <= len(lines) <= MOST, kind
        assert max(map(len, lines)) <= WIDTH, kind
        assert all(line.isprintable() for line in lines), kind


def test_their_html_is_whole_escaped_short_and_in_the_colors_of_the_page(results):
    tags = {"div", "p", "strong", "b", "br", "table", "thead", "tbody", "tr", "th", "td"}
    for kind, result in results.items():
        html = result._repr_html_()
        page = Page(html)
        assert page.open == [], kind
        assert {tag for tag, _ in page.elements} <= tags | {"details", "summary", "ul", "li"}, kind
        assert "<script>" not in html, kind
        assert {name for _, attributes in page.elements for name in attributes} <= {"class", "open"}, kind
        assert not re.search(r"color|background|http|url\(", html), kind
        assert len(html) < 20_000, kind


def test_a_comparison_without_a_useful_model_marks_no_line(play_tennis):
    found = bc.compare({"nb": bc.NaiveBayes(), "tan": bc.BayesNetClassifier()}, play_tennis.X, play_tennis.y, cv=2)
    assert "> " not in repr(found)
    assert "No model is clearly better" in found._repr_html_()


def test_a_comparison_marks_its_best_line_and_says_the_verdict():
    X, y = load_iris(return_X_y=True)
    found = bc.compare({"nb": bc.NaiveBayes(), "tan": bc.BayesNetClassifier()}, X, y, cv=2)
    model, rule = found.best
    (best,) = [line for line in repr(found).split("\n") if line.startswith("> ")]
    assert best.split()[1:3] == [model, rule]
    score = found.table.set_index(["model", "rule"]).loc[found.best]
    assert f"{score['log_loss']:.3f} ± {score['log_loss_se']:.3f}" in best
    words = " ".join(repr(found).split())
    assert f"({model}), " in words
    assert f"({rule}): its log loss is" in words
    assert f"<tr><td><b>{model}</b></td><td><b>{rule}</b></td>" in found._repr_html_()


def test_a_comparison_without_answers_says_why(play_tennis):
    found = bc.compare({"nb": bc.NaiveBayes()}, play_tennis.X, play_tennis.y, ["map"], cv=2, repeats=1)
    object.__setattr__(found, "answers", {("nb", "map"): Answers((), "no variance")})
    assert "Naive Bayes (nb) has no answer under map: no variance." in repr(found)
    assert "No model could answer under any rule." in found._repr_html_()
    reasons = {(model, rule): Answers((), f"no {model}") for model in ("a", "b", "c") for rule in ("map", "mean")}
    object.__setattr__(found, "answers", {**reasons, ("c", "mean"): Answers((), "no mean")})
    lines = repr(found).split("\n")
    assert lines[1:4] == [
        "A has no answer under map and mean: no a.",
        "B has no answer under map and mean: no b.",
        "2 more reasons in the table.",
    ]


def test_what_does_not_fit_is_counted():
    shown = Display("Rows", ("row",), [[row] for row in range(MOST_LINES + 3)], left_out=1_000)
    assert shown.text().split("\n")[-1] == "  … and 1,003 more"
    assert "<p>… and 1,003 more</p>" in shown.html()


CONCISE = {
    "Gaussian()": bc.families.Gaussian(),
    "Hurdle(family=Gamma(median=2.0))": bc.families.Hurdle(bc.families.Gamma(median=2.0)),
    "LearnedScale(spread=0.5)": bc.LearnedScale(spread=0.5),
    "LearnedScale(given={'age': 1.0})": bc.LearnedScale(given={"age": 1.0}),
    "Auto(nuts=NUTS(draws=500))": bc.engines.Auto(nuts=bc.engines.NUTS(draws=500)),
    "Laplace()": bc.engines.Laplace(),
}


@pytest.mark.parametrize("words", CONCISE)
def test_families_and_engines_print_what_differs_from_the_defaults_as_it_was_written(words):
    assert repr(CONCISE[words]) == words
    names = vars(bc.families) | vars(bc.engines) | {name: getattr(bc, name) for name in bc.__all__}
    assert eval(words, names) == CONCISE[words]
