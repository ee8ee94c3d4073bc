"""Results print themselves in a few lines, whatever the user's table holds and however large it is."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from helpers.pages import Page

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


KINDS = [
    *("comparison", "with costs", "explanation", "explanation of one row", "explanation without intervals"),
    *("prediction sets", "uncertainty", "implied logistic", "implied by a point", "diagnosis", "data set", "outcome"),
    *("trace", "learning curve"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_its_text_has_few_and_short_lines(results, kind):
    for text in (repr(results[kind]), f"{results[kind]!r}"):
        lines = text.split("\n")
        assert 1 <= len(lines) <= MOST
        assert max(map(len, lines)) <= WIDTH
        assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("kind", KINDS)
def test_its_html_is_whole_escaped_short_and_in_the_colors_of_the_page(results, kind):
    html = results[kind]._repr_html_()
    page = Page(html)
    assert page.open == []
    assert {tag for tag, _ in page.elements} <= {
        *("div", "p", "strong", "b", "br", "table", "thead", "tbody", "tr", "th", "td"),
        *("details", "summary", "ul", "li"),
    }
    assert "<script>" not in html
    assert {name for _, attributes in page.elements for name in attributes} <= {"class", "open"}
    assert not re.search(r"color|background|http|url\(", html)
    assert len(html) < 20_000


def test_a_comparison_marks_its_best_line_and_says_the_verdict(play_tennis):
    found = bc.compare({"nb": bc.NaiveBayes(), "tan": bc.BayesNetClassifier()}, play_tennis.X, play_tennis.y, cv=2)
    model, rule = found.best
    (best,) = [line for line in repr(found).split("\n") if line.startswith("> ")]
    assert best.split()[1:3] == [model, rule]
    score = found.table.set_index(["model", "rule"]).loc[found.best]
    assert f"{score['log_loss']:.3f} ± {score['log_loss_se']:.3f}" in best
    words = " ".join(repr(found).split())
    assert "No model is clearly better than always predicting the class shares" in words
    assert f"({model}), averaged over its posterior ({rule})" in words
    assert f"<tr><td><b>{model}</b></td><td><b>{rule}</b></td>" in found._repr_html_()
    assert "No model is clearly better" in found._repr_html_()


def test_a_comparison_without_answers_says_why(play_tennis):
    found = bc.compare({"nb": bc.NaiveBayes()}, play_tennis.X, play_tennis.y, ["map"], cv=2)
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


def test_prediction_sets_show_their_sizes_and_labels():
    clf = bc.GaussianNB(random_state=1).fit([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"])
    found = clf.predict_set([[0.5], [3.0]], level=0.8)
    assert [line.split(maxsplit=1) for line in repr(found).split("\n")[2:]] == [
        ["0", "{" + ", ".join(found.labels[0]) + "}"],
        ["1", "{" + ", ".join(found.labels[1]) + "}"],
    ]
    assert "1 label in 50.0% and 2 labels in 50.0%" in repr(found)


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


def test_a_family_with_arrays_prints_these_and_its_own_settings():
    family = bc.families.Poisson(a=np.array([[1.0, 2.0]]), b=3.0)
    assert repr(family) == "Poisson(a=array([[1., 2.]]), b=3.0)"


def test_a_learning_curve_has_its_rules_in_the_order_of_their_last_scores_and_says_what_has_none(play_tennis):
    found = bc.learning_curve(
        {"nb": bc.NaiveBayes(inference="map")}, play_tennis.X, play_tennis.y, "all", sizes=[5, 8], cv=3
    )
    lines = repr(found).split("\n")
    last = found.table[found.table["m"] == 8].set_index("rule")["log_loss"]
    assert lines[3].split()[:2] == ["nb", last.idxmin()]
    assert f"{last.min():.3f} ± " in lines[3]
    assert "n/a: nb under mean, bayes-optimal, predictive and gibbs: a fit by MAP leaves no posterior" in repr(found)


def test_what_holds_arrays_prints_their_shapes(play_tennis):
    clf = bc.NaiveBayes(random_state=0).fit(play_tennis.X, play_tennis.y)
    assert repr(clf.draws_) == "Draws(parameters={'pi': array (1000, 2), 'theta': array (1000, 2, 10)}, chains=4)"
    found = bc.compare({"nb": clf}, play_tennis.X, play_tennis.y, ["map", "mle"], cv=2)
    assert "log_proba=array (14, 2), error=array (14,)" in repr(found.answers)
    nuts = replace(clf.draws_, stats=xr.Dataset({"lp": (("chain", "draw"), np.zeros((4, 250)))}))
    assert repr(nuts).endswith("chains=4, stats=Dataset {'chain': 4, 'draw': 250})")
