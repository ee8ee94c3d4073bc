"""The report of one fitted classifier: sound, harmless, and what it says is what the checks found."""

import numpy as np
import pandas as pd
import pytest
from helpers.pages import IMAGE, SCRIPT, Page, leave_figures_unwritten, require_pleasant
from helpers.suites import mainly
from scipy import sparse
from sklearn.datasets import load_iris

import bayesclf as bc
from bayesclf.cli import run
from bayesclf.errors import InputError
from bayesclf.evaluation.score_table import row_losses
from bayesclf.report.classifier_page import MOST_EFFECTS, headline, largest_effects, reliability, tree
from bayesclf.report.tree import html, markdown, told
from bayesclf.wording import pair, percent


def render(classifier, *rows, command=None):
    return html(tree(classifier, *rows, command=command))


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
    nuts = bc.engines.NUTS(draws=600, tune=300)
    models = {
        "nb": bc.NaiveBayes(random_state=1),
        "sampled": bc.LogisticRegression(prior_scale=2.5, inference=nuts, random_state=1),
        "point": bc.LogisticRegression(prior_scale=2.5, inference="map"),
    }
    return {name: model.fit(X, y) for name, model in models.items()}


@pytest.fixture(scope="module")
def pages(fits, table):
    """Return a page of each fit, its figures unwritten; that of the chains is without rows, which would be held out."""
    with pytest.MonkeyPatch.context() as patch:
        leave_figures_unwritten(patch)
        return {name: page_of(name, fits, table) for name in fits}


def page_of(name, fits, table):
    return render(fits[name], *(() if name == "sampled" else table), command="bayesclf report <b>.nc")


@pytest.mark.parametrize("name", mainly(["nb", "sampled", "point"], "point"))
def test_the_page_is_sound(fits, table, name):
    page = Page(page_of(name, fits, table))
    page.require_sound()
    for word in (SCRIPT, IMAGE, "$a$", "cost $x$ in $", "{{ 7 * 7 }}", "bayesclf report <b>.nc"):
        assert word in "".join(page.text)


def test_every_check_has_its_place(pages, fits, table):
    found = fits["nb"].diagnose(*table)
    words = Page(pages["nb"]).words
    assert all(finding.code in words for finding in found.findings)
    assert headline(found) in words
    for finding in (*found.issues, *found.tips):
        assert finding.next_step[1:] in words
    for effect in fits["nb"].effects(table[0], "日本/a_b^c")["effect"]:
        assert f"{float(f'{effect:.2g}'):g}".replace("-", "−") in words


def test_held_out_scores_come_first(pages, fits, table):
    words, held_out = Page(pages["nb"]).words, fits["nb"].diagnose(*table).held_out
    right, loss = (row_losses(held_out, held_out.best, name) for name in ("error", "log_loss"))
    accuracy, loss_error = (one.std(ddof=1) * np.sqrt(1 / 150 + 1 / 120) for one in (right, loss))
    assert percent(1 - right.mean(), accuracy) in words
    assert f"its log loss on held-out rows is {pair(loss.mean(), loss_error)}, against " in words
    assert "Area under the ROC curve" in words
    places = [
        words.index(part) for part in ("Area under the ROC", "Held-out rows by true class", "parameterfeatureoutcome")
    ]
    assert places == sorted(places)


def test_the_page_has_the_table_of_parameters(pages, fits):
    ids = Page(pages["sampled"]).words
    for name in ("odds ratio", "p positive", "r hat", "ess bulk"):
        assert name in ids
    assert "the odds of each class against the mean of all classes" in ids


@pytest.mark.usefixtures("unwritten_figures")
def test_a_model_that_knows_nothing_is_called_so_first():
    """And headings keep the names of classes."""
    y = np.array(["a_b", "c"])[np.arange(90) % 3 // 2]
    X = np.random.default_rng(2).normal(size=(90, 5))
    page = tree(bc.GaussianNB(random_state=1).fit(X, y), X, y)
    said = next(told(page.sections[0]))
    assert "is not clearly better than always predicting the class" in said
    assert '<th class="number">a_b</th>' in html(page)


def test_the_largest_effects_of_many_columns_are_shown(rng):
    X = pd.DataFrame(rng.normal(size=(200, 15))).add_prefix("x")
    y = (X["x14"] + rng.normal(size=200) > 0).astype(int)
    shown = largest_effects(bc.GaussianNB(random_state=1).fit(X, y), X, list(X))
    assert (shown[0], len(shown)) == ("x14", MOST_EFFECTS)


def test_a_sampled_posterior_shows_its_chains(pages):
    figures = [attributes["aria-labelledby"] for tag, attributes in Page(pages["sampled"]).elements if tag == "svg"]
    assert {label.partition("-")[0] for label in figures} >= {"weights", "ranks"}


@pytest.mark.usefixtures("unwritten_figures")
def test_without_rows_checks_are_skipped(fits):
    words = Page(render(fits["nb"])).words
    assert "ive the training rows" in words
    assert "Predictions" not in words


@pytest.mark.parametrize("kind", [bc.GaussianNB, bc.LogisticRegression])
def test_rows_that_are_not_those_of_the_fit_are_refused_before_any_work(kind, tmp_path, monkeypatch):
    """Rows count by their weights, but those that no repeated rows stand for, as of balanced classes."""
    monkeypatch.setattr("bayesclf.report.classifier_page.tree", lambda *_: None)
    monkeypatch.setattr("bayesclf.report.html", lambda _: "a page")
    X, y = (part[:120] for part in load_iris(return_X_y=True))
    path, clf = tmp_path / "report.html", kind(inference="map").fit(X, y)
    for others, labels in ((X[:60], y[:60]), (X, np.roll(y, 50)), (X, np.arange(120) % 3), (X + 0.1, y)):
        with pytest.raises(
            InputError, match=r"^a report needs the training rows, with a row of weight 2 given twice: "
        ):
            clf.report(path, others, labels)
    assert list(tmp_path.iterdir()) == []
    clf.report(path, X[::-1], y[::-1])
    assert path.read_text() == "a page"
    for weight in (np.repeat([40 / 50, 40 / 20], [100, 20]), np.full(120, 0.33)):
        clf.fit(X, y, sample_weight=weight).report(path, X, y)
    clf.fit(X, y, sample_weight=np.full(120, 2)).report(path, np.repeat(X, 2, axis=0), np.repeat(y, 2))
    with pytest.raises(InputError, match="with a row of weight 2 given twice: the classifier was fitted on 100 of '0'"):
        clf.report(path, X, y)


DOCUMENTS = ["a good <b> movie", "a bad film", "fun, good fun", "boring and bad"] * 5


@pytest.mark.usefixtures("unwritten_figures")
@pytest.mark.parametrize(
    "given",
    [
        pytest.param(list, marks=pytest.mark.slow),
        pytest.param(lambda d: np.array(d, dtype=object), marks=pytest.mark.slow),
        lambda d: pd.Series(d, index=range(9, 29)),
    ],
)
def test_texts_are_one_column_of_the_page(given, tmp_path):
    texts, y = given(DOCUMENTS), np.array(["p", "n", "p", "n"] * 5)
    bc.TextNB(random_state=1).fit(texts, y).report(tmp_path / "report.html", texts, y)
    words = Page((tmp_path / "report.html").read_text(encoding="utf-8")).words
    assert "20 rows · 1 column · 2 classes" in words
    assert "a good <b> movie (5)" in words


@pytest.mark.usefixtures("unwritten_figures")
@pytest.mark.parametrize("kind", mainly([bc.MultinomialNB, bc.BernoulliNB], bc.BernoulliNB))
def test_a_sparse_table_has_the_page_of_the_dense_one(kind, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.poisson(0.5, size=(60, 4)).astype(float), rng.integers(2, size=60)
    clf = kind(random_state=1)
    clf.fit(sparse.csr_array(X), y).report(tmp_path / "report.html", sparse.csr_array(X), y)
    words = Page((tmp_path / "report.html").read_text(encoding="utf-8")).words
    data = words[words.rindex("columnkindmissing") : words.rindex("Methods, to paste")]
    dense = Page(render(kind(random_state=1).fit(X, y), X, y)).words
    assert data in dense
    assert f"x3number0{X[:, 3].min():.4g} to {X[:, 3].max():.4g}" in data


def test_the_headline_of_a_healthy_fit():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    X = pd.DataFrame({"a": y + rng.normal(0, 1, 300), "b": y + rng.normal(0, 1, 300)})
    found = bc.GaussianNB(random_state=1).fit(X, y).diagnose(X, y)
    assert headline(found).startswith(f"The checks found no issue: {len(found.passed)} passed")


@pytest.mark.usefixtures("unwritten_figures")
def test_the_command_writes_it(tmp_path, capsys):
    model, page = tmp_path / "model.nc", tmp_path / "report.html"
    assert run(["fit", "play_tennis", "--model", "categorical", "--output", str(model)]) == 0
    assert run(["report", str(model), "--table", "play_tennis", "--output", str(page)]) == 0
    said = " ".join(capsys.readouterr().out.split()).replace(" ", " ")
    assert f"report written to {page}" in said
    assert "always predicting the class shares" in said
    words = Page(page.read_text(encoding="utf-8")).words
    assert "CategoricalNB" in words
    assert f"bayesclf report {model} --table play_tennis" in words
    assert "14 rows · 4 columns · 2 classes" in words


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--output", "-"], "--output - must end in .html, .htm, .md or .json"),
        (["--output", "x.html", "--target", "play"], "--target names a column of the training table"),
        (["play_tennis", "--output", "x.html"], "give a training table as --table TABLE"),
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


@pytest.mark.parametrize("seed", [0, 7])
def test_the_page_and_a_comparison_have_the_same_folds_and_numbers(seed):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = pd.DataFrame({"x": y + rng.normal(0, 2.5, 60)})
    found = bc.compare({"gnb": bc.GaussianNB()}, X, y, rules=["bayes-optimal"], random_state=seed)  # by draws
    held_out = bc.GaussianNB(random_state=seed).fit(X, y).diagnose(X, y).held_out
    assert found.repeats == held_out.repeats == 4
    assert held_out.setting == "4 times 5-fold cross-validation of 60 rows"
    of_page, of_comparison = held_out.answers["", "bayes-optimal"], found.answers["gnb", "bayes-optimal"]
    for one, other in zip(of_page.scores, of_comparison.scores, strict=True):
        np.testing.assert_array_equal(one.log_proba, other.log_proba)
    assert reliability(held_out, held_out.best, "name", "what").draw.args[-1] == 4  # else the band is too narrow


def test_a_covariance_is_there_once_and_equal_ones_of_other_columns_are_not_left_out():
    X = pd.DataFrame({"a": [0, 0, 1, 1] * 10, "b": [0, 1, 0, 1] * 10, "c": [0, 1, 1, 0] * 10}, dtype=float)
    X.iloc[20:] += 1
    page = markdown(tree(bc.GaussianDiscriminantAnalysis(inference="map").fit(X, ["p"] * 20 + ["q"] * 20)))
    assert [page.count(f"Sigma | {pair} |") for pair in ("a, b", "b, a", "b, b", "c, c", "b, c")] == [1, 0, 1, 1, 1]
