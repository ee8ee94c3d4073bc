"""The writers of a report: Markdown that a stranger's names do not mark up, and JSON with the numbers themselves."""

import json

import numpy as np
import pandas as pd
import pytest
from helpers.pages import IMAGE, SCRIPT, Page
from markdown_it import MarkdownIt
from sklearn.datasets import load_iris

import bayesclf as bc
from bayesclf.interpretation.summary import priors_of
from bayesclf.report import page
from bayesclf.report.methods import _left_out, _missing, _priors, of_comparison
from bayesclf.report.tree import Beside, Report, Section, Table, html, markdown, to_json
from bayesclf.report.verdict import verdict

NAMED = "1. nb\n## <b>hacked</b> ![i](p.png)"
NAMES = (SCRIPT, "a|b `c`", "**bold** [link](x) # ~~gone~~", "red\x1b[31m")


@pytest.fixture(scope="module")
def hostile():
    data = load_iris(as_frame=True)
    X = data.data.set_axis(NAMES, axis=1)
    return X, pd.Series(np.array([IMAGE, "$a$ | b", "</title></svg>"])[data.target], name="1. <b>kind</b>")


@pytest.fixture(scope="module")
def fit(hostile):
    return bc.NaiveBayes(families="gaussian", random_state=1).fit(*hostile)


@pytest.fixture(scope="module")
def comparison(hostile):
    models = {NAMED: bc.NaiveBayes(families="gaussian"), "lr": bc.LogisticRegression(prior_scale=2.5, inference="map")}
    return bc.compare(models, *hostile, "all", cv=3)


@pytest.fixture(scope="module")
def written(fit, comparison, hostile, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    for form in ("md", "json"):
        fit.report(folder / f"fit.{form}", *hostile)
        comparison.report(folder / f"comparison.{form}")
    return folder


def text_of(tokens):
    return [child for token in tokens for child in (token.children or [token])]


@pytest.mark.parametrize("name", ["fit", "comparison"])
def test_names_are_text_and_nothing_else(written, name):
    tokens = (
        MarkdownIt("commonmark", {"html": True})
        .enable(["table", "strikethrough"])
        .parse((written / f"{name}.md").read_text())
    )
    kinds = {token.type for token in text_of(tokens)}
    assert not kinds & {"html_inline", "html_block", "link_open", "strong_open", "s_open", "code_inline", "image"}
    headings = [tokens[i + 1].content for i, token in enumerate(tokens) if token.type == "heading_open"]
    assert not any(heading.startswith("hacked") for heading in headings)
    shown = " ".join(token.content for token in text_of(tokens))
    for label in NAMES[:3]:
        assert label in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("name", ["fit", "comparison"])
def test_each_table_has_the_same_width_in_every_line(written, name):
    tokens = MarkdownIt("commonmark").enable("table").parse((written / f"{name}.md").read_text())
    widths, cells = [], 0
    for token in tokens:
        if token.type in ("td_open", "th_open"):
            cells += 1
        elif token.type == "tr_close":
            widths.append(cells)
            cells = 0
        elif token.type == "table_close":
            assert len(set(widths)) == 1
            widths = []


def tables(parts):
    """Yield the tables of parts of a report in JSON, those of nested parts too."""
    for part in parts:
        if "table" in part:
            yield part["table"]
        yield from tables(part.get("parts", []))


def sections(path):
    document = json.loads(path.read_text())
    return document, {section["heading"]: section["parts"] for section in document["sections"]}


def test_json_has_the_numbers_of_the_comparison(written, comparison):
    document, parts = sections(written / "comparison.json")
    (scores, *_) = tables(parts["Scores"])
    known = [line["log_loss"] for line in scores if line["log_loss"] is not None]
    assert known == pytest.approx(comparison.table["log_loss"].dropna().tolist())
    assert document["made"]["Seed"] == str(comparison.seed)


def test_json_has_the_numbers_of_the_fit(written, fit):
    _, parts = sections(written / "fit.json")
    (posterior,) = tables(parts["Posterior"])
    means = {(line["parameter"], line["outcome"], line["feature"]): line["mean"] for line in posterior}
    assert means == pytest.approx(fit.summary()["mean"].to_dict())
    (priors,) = tables(parts["Model and priors"])
    assert [line["prior"] for line in priors] == list(fit.prior_summary()["prior"])
    (checks,) = tables(parts["Checks"])
    assert {line["code"] for line in checks} >= {"P01", "M03", "Y02"}


@pytest.mark.usefixtures("unwritten_figures")
def test_all_forms_say_the_same(comparison):
    found = page.tree(comparison)
    first = found.sections[0]
    judged = verdict(comparison)
    paragraphs = [judged.headline, *judged.findings]
    words, document = Page(html(found)).words.replace("\N{NO-BREAK SPACE}", " "), to_json(found)
    for sentence in paragraphs:
        assert " ".join(sentence.split()) in words
        assert all(json.dumps(one, ensure_ascii=False)[1:-1] in document for one in sentence.split(". "))
    assert first.heading == "Verdict"
    assert markdown(found).startswith(r"# Predicting 1.\ \<b\>kind") or "kind" in markdown(found).splitlines()[0]


def test_the_paragraph_says_what_was_compared_and_under_which_priors(comparison):
    priors = {name: priors_of(fit) for name, fit in comparison.fits.items()}
    said = of_comparison(comparison, verdict(comparison), priors)
    assert said.startswith(
        f"Naive Bayes ({NAMED}) and logistic regression (lr) were compared on 150 rows and 4 columns"
    )
    assert "by 3-fold stratified cross-validation" in said
    assert "The Bayesian models answered at their maximum likelihood estimate (mle, " in said
    assert "Logistic regression (lr) assumed that log-odds are linear in the columns. Its priors were " in said
    assert "By differences of log loss from it, " in said
    fits, words = {"lr": bc.LogisticRegression()}, pd.DataFrame({"wind": ["weak", None], "degrees": [1.0, 2.0]})
    missing = ["1 cell was missing: lr gave a missing category no weight."]
    assert (_missing(fits, words), _missing(fits, words.dropna())) == (missing, [])
    assert _left_out(["rows 2 and 7 are left out (--unlabeled error)"]) == ["Rows 2 and 7 were left out."]
    means = load_iris().data.mean(axis=0)
    assert f"Normal({means.min():.4g} to {means.max():.4g}, sigma2/1) for the means mu" in said
    assert "Normal(0, 2.5²) for weight" in said
    assert comparison.seed == 0
    assert "seed 0. References: " in said


def of_table(values, **options):
    return Report("t", "s", [Section("p", [Beside([Table(values, **options)])])], [])


def test_a_table_that_is_not_finite_is_json():
    table = pd.DataFrame({"value": [np.nan, np.inf, -np.inf, 1.5], "flag": [True, False, True, False]})
    (found,) = tables(json.loads(to_json(of_table(table)))["sections"][0]["parts"])
    assert [line["value"] for line in found] == [None, "inf", "-inf", 1.5]
    assert found[0]["flag"] is True


def test_long_tables_say_how_many_lines_are_left_out():
    found = of_table(pd.DataFrame({"value": range(1_200)}), most=10)
    for form in (markdown, html):
        assert "… and 1,190 more lines." in form(found)


def test_the_paragraph_names_only_models_that_answered_and_says_why_others_did_not():
    X, y = load_iris(return_X_y=True)
    models = {
        "one": bc.GaussianNB(inference="mle"),
        "none": bc.LogisticRegression(prior_scale=2.5, inference="map", rule="map"),
    }
    comparison = bc.compare(models, X, y, cv=3, rules=["mle"])
    found = verdict(comparison)
    said = of_comparison(comparison, found, {name: priors_of(fit) for name, fit in comparison.fits.items()})
    assert said.startswith("Gaussian naive Bayes (one) was tried on 150 rows")
    assert "Logistic regression (none) had no answer: " in said
    assert "riors were" not in said  # maximum likelihood has none


def test_the_paragraph_keeps_thousands_and_joins_ranges():
    rng = np.random.default_rng(0)
    X, y = rng.poisson(1.0, (12, 2_000)), np.arange(12) % 2
    clf = bc.MultinomialNB(alpha=1.0).fit(X, y)
    assert "Dirichlet(1 in each of 2,000 cells) for the probabilities theta" in _priors(priors_of(clf))
    alpha = rng.uniform(0.5, 3.0, (2, 2_000))
    clf = bc.MultinomialNB(alpha=alpha).fit(X, y)
    expected = f"Dirichlet({alpha.min():.4g} to {alpha.max():.4g} in 2,000 cells) for the probabilities theta"
    assert expected in _priors(priors_of(clf))
    scales = {"x0": 1.0, "x1": 2.5, "x2": 4.0}
    lr = bc.LogisticRegression(prior_scale=scales, inference="map").fit(rng.normal(size=(30, 3)), np.arange(30) % 2)
    assert "Normal(0, 1 to 4²) for weight" in _priors(priors_of(lr))


@pytest.mark.parametrize(("correlation", "said"), [("learned", "prior_correlation"), (0.5, "0.5")])
def test_the_paragraph_says_what_the_covariance_of_weights_is(correlation, said):
    X, y = load_iris(return_X_y=True)
    lr = bc.LogisticRegression(prior_scale=bc.LearnedScale(correlation=correlation), inference="map").fit(X, y)
    priors = priors_of(lr)
    text = _priors(priors)
    assert "Normal(0, C·prior_scale²) for weight" in text
    of_columns = "the columns' covariance, scaled to an average variance of 1"
    assert text.endswith(f", where C = (1 − {said})·I + {said}·{of_columns}.")
    assert any(priors.symbols[0] in sentence for sentence in priors.model)
    independent = bc.LogisticRegression(prior_scale=bc.LearnedScale(correlation=0), inference="map").fit(X, y)
    assert "where C" not in _priors(priors_of(independent))
