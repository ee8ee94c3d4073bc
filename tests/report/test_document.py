"""The report: one file, nothing requested, nothing from the user's table ever markup, and what it says is so."""

import os
import re
import stat
from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from helpers.pages import IMAGE, SCRIPT, Page, leave_figures_unwritten, require_pleasant
from helpers.suites import mainly
from sklearn.datasets import load_iris
from sklearn.metrics import confusion_matrix, roc_auc_score

import bayesclf as bc
from bayesclf.errors import InputError
from bayesclf.evaluation.score_table import over_confidence
from bayesclf.interpretation.dependence import may_help
from bayesclf.report import classifier_page, page, table, write_comparison
from bayesclf.report.facts import area_under_roc, confusion, facts
from bayesclf.report.names import HOW, MODELS
from bayesclf.report.table import MOST_COLUMNS, column_summaries
from bayesclf.report.tree import html as written
from bayesclf.report.verdict import NOTHING, extremes, in_sentence, verdict
from bayesclf.wording import percent


def render(comparison, command=None):
    return written(page.tree(comparison, command))


def compared(models, X, y, **settings):
    return bc.compare(models, X, y, **{"rules": "all", "cv": 3} | settings)


@pytest.fixture(scope="module")
def comparison():
    data = load_iris(as_frame=True)
    models = {"nb": bc.NaiveBayes(), "lr": bc.LogisticRegression(prior_scale=2.5, inference="map")}
    return compared(models, data.data, data.target_names[data.target])


@pytest.fixture(scope="module")
def hostile():
    data = load_iris(as_frame=True)
    X = data.data.iloc[:, :3].set_axis([SCRIPT, "cost $x$ in $", "日本/a_b^c\x1b[2J"], axis=1)
    X["</style><b>"] = np.where(X[SCRIPT] > 5.8, "'\"><svg onload=alert(2)>", "{{ 7 * 7 }}")
    X.iloc[:5, 3] = None
    y = np.array([IMAGE, "$a$", "</title></svg>"])[data.target]
    return compared(
        {f"{SCRIPT}$m$": bc.NaiveBayes(), IMAGE: bc.LogisticRegression(prior_scale=2.5, inference="map")}, X, y
    )


@pytest.fixture(scope="module")
def whole_html(comparison):
    return render(comparison, command="bayesclf compare iris --report <b>.html")


@pytest.fixture(scope="module")
def html(comparison):
    """Return the page without what takes most of the time, its figures written out."""
    with pytest.MonkeyPatch.context() as patch:
        leave_figures_unwritten(patch)
        return render(comparison, command="bayesclf compare iris --report <b>.html")


@pytest.fixture(scope="module")
def hostile_html(hostile):
    return render(hostile)


@pytest.mark.parametrize("name", mainly(["whole_html", "hostile_html"], "hostile_html"))
def test_the_page_is_sound(name, request):
    found = Page(request.getfixturevalue(name))
    found.require_sound()
    assert len([tag for tag, _ in found.elements if tag == "svg"]) >= 3


def test_names_are_text_and_nothing_else(hostile_html):
    found = Page(hostile_html)
    tags = [tag for tag, _ in found.elements]
    assert "b" not in tags
    assert "svg" in tags
    assert not any(name.startswith("on") for _, attributes in found.elements for name in attributes)
    assert "img" not in tags
    assert "image" not in tags
    assert "\x1b" not in hostile_html
    text = "".join(found.text)
    for name in (SCRIPT, IMAGE, "$a$", "</title></svg>", "cost $x$ in $", "日本/a_b^c\\x1b[2J", "{{ 7 * 7 }}"):
        assert name in text


def test_the_page_says_what_is_so(comparison, html):
    text = " ".join("".join(Page(html).text).split())
    model, rule = comparison.best
    line = comparison.table.set_index(["model", "rule"]).loc[(model, rule)]
    assert (
        f"Use {MODELS[type(comparison.fits[model]).__name__]} ({model}), {HOW[rule]} ({rule}): its log loss is " in text
    )
    loss = facts(comparison, comparison.best, comparison.classes, comparison.order)[1]
    assert loss.meaning in text
    assert f"{line.log_loss:.3f} ± {line.log_loss_se:.3f}" in text
    shares = "3 classes: setosa 33.3%, versicolor 33.3%, virginica 33.3%"
    assert f"150 rows · 4 columns · {shares} · 3-fold cross-validation" in text
    assert "bayesclf compare iris --report <b>.html" in text
    assert "Logistic regression (lr) has no answer under mle: the classes are separable" in text
    assert NOTHING not in text
    call = verdict(comparison).next_step
    assert f"Next: {call}" in text
    assert eval(call.partition("].")[0] + "]", {"comparison": comparison}) is comparison.fits[model]


def test_counts_of_repeated_folds_add_up_to_the_rows_of_each_class():
    rng = np.random.default_rng(3)
    y = np.arange(90) % 3
    found = bc.compare({"nb": bc.GaussianNB()}, rng.normal(size=(90, 2)) + y[:, None] / 2, y, rules=["map"], repeats=4)
    counts = confusion(found, found.best)
    assert counts.sum(axis=1).tolist() == [30, 30, 30]
    log_proba, codes = found.stacked(*found.best)
    means = confusion_matrix(codes, log_proba.argmax(axis=1)) / 4
    np.testing.assert_allclose(counts, means)


def test_rows_on_which_rules_disagree_are_counted_from_1_as_in_the_checks(comparison, html):
    found = comparison.disagreements
    rows = found.loc[found["model"] == found["model"].iloc[0], "row"]
    lines = html.partition("Rows on which the rules disagree, counted from 1")[2].partition("</table>")[0]
    shown = re.findall(r"<tr[^>]*><t[hd][^>]*>(\d+)<", lines)
    assert [int(number) for number in shown] == (rows + 1).tolist()


def test_the_area_under_the_roc_curve_is_scikit_learns_and_its_error_delongs(rng):
    y = np.repeat([0, 1], [30, 50])
    found = bc.compare({"nb": bc.GaussianNB()}, rng.normal(size=(80, 1)) + y[:, None], y, repeats=1, rules=["map"])
    p = found.answers["nb", "map"].scores[0].log_proba[:, 1]
    above = (p[y == 1, None] > p[y == 0]) + 0.5 * (p[y == 1, None] == p[y == 0])
    variance = above.mean(axis=1).var(ddof=1) / 50 + above.mean(axis=0).var(ddof=1) / 30
    area, error = area_under_roc(found, ("nb", "map"))
    assert area == pytest.approx(roc_auc_score(y, p))
    assert error == pytest.approx(np.sqrt(variance * (1 + 80 / 64)), rel=0.02)


def test_rules_with_the_same_scores_are_one_line(rng):
    y = np.arange(40) % 2
    found = bc.compare({"lr": bc.LogisticRegression(2.5)}, rng.normal(size=(40, 1)) + y[:, None], y, "all", repeats=1)
    assert "bayes-optimal, predictive, tempered" in table.scores(found, found.table)["rule"].tolist()


def test_every_line_of_the_table_is_shown(comparison):
    shown = table.scores(comparison, comparison.table)
    failed = {(model, rule) for (model, _), rules in table.failures(comparison).items() for rule in rules}
    every = {(line.model, rule) for line in shown.itertuples() for rule in line.rule.split(", ")}
    assert every == set(comparison.answers) - failed
    assert shown["difference"].tolist().count("–") == 1
    assert (shown["model"][0], shown["rule"][0]) == comparison.best
    assert set(shown) - {"model", "rule"} <= set(table.MEANINGS)


@pytest.mark.usefixtures("unwritten_figures")
def test_a_page_is_short_until_one_asks_for_more():
    rows = bc.datasets.load("breast_cancer_ljubljana")
    models = {"nb": bc.NaiveBayes(), "lr": bc.LogisticRegression(inference="map")}
    comparison = bc.compare(models, rows.X, rows.y, cv=3, repeats=1)
    assert "under map (log loss smaller by 0.003 ± 0.070), bayes-optimal" in verdict(comparison).cautions[-1]
    clf = bc.NaiveBayes(random_state=1).fit(rows.X, rows.y)
    few = "classes and levels with few rows (M05, nb and lr)", "the prior has much influence on their parameters"
    trees = page.tree(comparison), classifier_page.tree(clf, rows.X, rows.y)
    for found, most, tip in zip(trees, (700, 500), few, strict=True):
        made = Page(written(found))
        assert len(" ".join(made.visible).split()) < most
        assert tip in " ".join(made.visible)
        assert len(" ".join(made.prose).split()) < 3000


def test_over_confidence_is_named():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    one = y + rng.normal(0, 1.5, 400)
    X = pd.DataFrame({f"copy {i}": one + rng.normal(0, 0.01, 400) for i in range(12)})
    comparison = compared({"nb": bc.NaiveBayes()}, X, y, rules=["map", "bayes-optimal"])
    assert over_confidence(comparison, ("nb", "map")).mean > 0.1
    cautions = verdict(comparison).cautions
    assert any(f"is over-confident under {comparison.leader('nb')[1]}: " in sentence for sentence in cautions)
    tempered = compared({"nb": bc.NaiveBayes()}, X, y, rules=["map", "bayes-optimal", "tempered"])
    assert tempered.leader("nb") == ("nb", "tempered")  # which is not over-confident
    assert over_confidence(tempered, ("nb", "map")).mean > 0.1
    assert not any("over-confident" in sentence for sentence in verdict(tempered).cautions)


@pytest.mark.parametrize(("copies", "worse"), [(1, False), (30, True)])
def test_a_model_that_is_worse_than_the_shares_of_the_classes_is_called_so(copies, worse):
    """Naive Bayes counts copies of a column as evidence of their own."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    odd, fine = 0.5 * y + rng.normal(size=200), 2 * y + rng.normal(size=200)
    X = pd.DataFrame({f"odd{copy}": odd for copy in range(copies)})
    models = {"lr": bc.LogisticRegression(prior_scale=2.5), "nb": bc.GaussianNB("feature")}
    found = compared(models, X.assign(fine=fine), y, rules=["map"])
    judged = verdict(found)
    assert "log loss is larger by" in judged.headline
    assert any(said.startswith("Clearly worse than always predicting the class") for said in judged.cautions) == worse


def test_boosting_that_takes_too_long_is_no_reason_for_distrust(monkeypatch):
    doubling = map(float, (2**n for n in count()))  # each look at the clock is twice as late as the one before
    monkeypatch.setattr("bayesclf.evaluation.comparison.time", SimpleNamespace(perf_counter=doubling.__next__))
    X, y = pd.DataFrame({"a": np.arange(60) % 7}), np.arange(60) % 2
    judged = verdict(compared({"nb": bc.GaussianNB()}, X, y, rules=["map"], boosting=True))
    assert sum("Gradient boosting was left out: it takes longer" in said for said in judged.findings) == 1
    assert not any("oosting" in said for said in judged.cautions)


def test_rows_behind_an_extreme_loss_are_counted():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = pd.DataFrame({"fine": y + rng.normal(0, 0.7, 300), "odd": rng.normal(0, np.where(y == 1, 0.05, 1.0))})
    assert extremes(compared({"nb": bc.NaiveBayes(families="gaussian")}, X, y, rules=["map"]), "nb", "map") == ""
    X.loc[1, "odd"] = 4.0  # eighty standard deviations of its class
    said = extremes(compared({"nb": bc.NaiveBayes(families="gaussian")}, X, y, rules=["map"]), "nb", "map")
    assert said.startswith("1 row whose true class got a probability below 1/1000 makes up ")


def test_titles_within_a_sentence_keep_the_capitals_of_names():
    titles = ["Pareto k̂ of rows", "R-hat of the chains", "NUTS divergences", "Collinear columns"]
    assert [in_sentence(title) for title in titles] == [*titles[:3], "collinear columns"]


def test_columns_are_summarised():
    frame = pd.DataFrame({"n": [1.0, -2.5, np.nan], "c": ["a", "a", None], "e": [np.nan] * 3})
    found = column_summaries(frame)
    assert found["kind"].tolist()[:2] == ["number", "category"]
    assert found["missing"].tolist() == [1, 1, 3]
    assert found["values"].tolist() == ["−2.5 to 1, median −0.75", "a (2)", "empty"]
    wide = pd.DataFrame(np.zeros((1, MOST_COLUMNS + 5))).rename(columns=str)
    assert len(column_summaries(wide)) == MOST_COLUMNS


def test_written_whole_with_ordinary_permissions(comparison, html, tmp_path, monkeypatch):
    monkeypatch.setattr("bayesclf.report.html", lambda _: html)
    path = tmp_path / "report.html"
    path.write_text("before")
    path.chmod(0o640)
    write_comparison(comparison, path)
    assert path.read_text(encoding="utf-8") == html
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["report.html"]
    assert path.stat().st_size < 1_000_000


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        (None, "the name of a file, such as 'report.html', not None"),
        (3, "the name of a file, such as 'report.html', not 3"),
        ("a" * 300, "a+… has too long a name"),
        ("a\0b", "is not a valid file name"),
    ],
)
def test_names_that_no_file_can_have(comparison, name, complaint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=complaint):
        comparison.report(name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("unwritten_figures")
def test_ordered_labels_keep_their_order_in_tables(rare_rows):
    y = pd.Series(pd.Categorical(np.resize(["low", "mid", "high"], 400), ["low", "mid", "high"], ordered=True))
    found = compared({"nb": bc.GaussianNB()}, rare_rows, y, rules=["map"])
    fit = bc.GaussianNB(random_state=1).fit(rare_rows, y)
    for words in (Page(render(found)).words, Page(written(classifier_page.tree(fit, rare_rows, y))).words):
        assert "3 classes: low 33.5%, mid 33.2%, high 33.2%" in words
        assert "true classlowmidhigh" in words
        assert re.search("Recall of low.*Recall of mid.*Recall of high", words)
    assert re.search("muxlow.*muxmid.*muxhigh.*sigma2xlow", words)  # the parameters
    assert found.classes.tolist() == ["high", "low", "mid"]


@pytest.mark.browser
@pytest.mark.parametrize("name", ["whole_html", "hostile_html"])
def test_a_browser_shows_it_without_complaint(name, request, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(request.getfixturevalue(name), encoding="utf-8")
    require_pleasant(path, tmp_path, printed=2)  # all rules


@pytest.fixture(scope="module")
def with_costs():
    data = load_iris(as_frame=True)
    cost = [[0, 1, 1], [1, 0, 5], [1, 1, 0]]
    y = np.array(["a", "<b>", "c"])[data.target]
    return compared({"nb": bc.NaiveBayes()}, data.data, y, cost=cost, reject=0.2)


@pytest.mark.usefixtures("unwritten_figures")
def test_costs_are_columns_of_the_scores_and_a_table(with_costs):
    found = Page(render(with_costs))
    found.require_sound()
    assert "a rejected row costs 0.2" in found.words
    shown = table.scores(with_costs, with_costs.table).set_index(["model", "rule"])
    for record in with_costs.table.to_dict("records"):
        line = shown.loc[(record["model"], record["rule"])]
        assert line["cost"].startswith(f"{record['cost']:.3f}")
        assert line["rejected"] == percent(record["rejected"])


def test_the_verdict_names_the_cheapest_decisions_and_what_the_same_for_all_rows_costs(with_costs):
    line = with_costs.table.set_index(["model", "rule"]).loc[with_costs.best]
    said = " ".join(verdict(with_costs).findings)
    assert f"cost least, {line['cost']:.3f} ± " in said
    decided = with_costs.predictions.set_index(["model", "rule"]).loc[with_costs.best, "decided"].fillna("~ rejected")
    rows = decided.value_counts().sort_index() / with_costs.repeats
    assert confusion(with_costs, with_costs.best).sum(axis=0) == pytest.approx(rows.to_numpy())
    assert "rejected" in said
    assert "Rejecting every row costs 0.200, clearly more by 0.149 ± 0.022." in said


RARE = np.where(np.arange(400) % 10 == 0, "yes", "no")


@pytest.fixture(scope="module")
def rare_rows():
    return pd.DataFrame({"x": np.random.default_rng(0).normal(size=400) + 0.8 * (RARE == "yes")})


@pytest.mark.usefixtures("unwritten_figures")
def test_labels_no_better_than_the_most_frequent_class_come_first(rare_rows):
    found = compared({"nb": bc.GaussianNB()}, rare_rows, RARE, rules=["map"])
    judged = verdict(found)
    frame = found.predictions
    recall = (frame["predicted"][frame["label"] == "yes"] == "yes").mean()
    assert judged.cautions[0].startswith("The labels are no")
    assert "always predicting 'no'" in judged.cautions[0]
    assert recall == 0
    assert "against 90.0%. No row of 'yes' is found." in judged.cautions[0]
    assert judged.cautions[0] in Page(render(found)).words
    half = RARE == "yes"
    half[:200] = False  # clearly better labels that find only half of a class may still find few of another
    third = np.where(half, "yes", np.where(np.arange(400) % 50 == 3, "few", "no"))
    found = compared({"nb": bc.GaussianNB()}, rare_rows + 9 * half[:, None], third, rules=["map"])
    assert verdict(found).cautions[0].startswith("No row of 'few' is found. Gather more rows of 'few', or")
    noise = compared({"nb": bc.GaussianNB()}, np.random.default_rng(0).normal(size=(400, 1)), RARE, rules=["map"])
    assert verdict(noise).cautions[0].endswith("No row of 'yes' is found.")  # costs help no model that tells nothing
    clear = compared({"nb": bc.GaussianNB()}, rare_rows + 9 * (RARE == "yes")[:, None], RARE, rules=["map"])
    assert verdict(clear).cautions == ()


def test_where_boosting_alone_learns_the_page_says_so(rng, monkeypatch):
    x = rng.integers(0, 2, size=(400, 2)).astype(str)
    y = np.where(rng.random(400) < 0.1, "odd", np.where(x[:, 0] == x[:, 1], "same", "odd"))
    found = bc.compare({"nb": bc.NaiveBayes()}, pd.DataFrame(x), y, repeats=1, rules=["map"], boosting=True)
    judged = verdict(found)
    assert judged.next_step.startswith("these columns tell more than the models use")
    assert judged.models[1].model == "boosting"
    useful = pd.DataFrame(x).assign(z=(y == "same") + rng.normal(size=400))
    beside = verdict(bc.compare({"nb": bc.NaiveBayes()}, useful, y, repeats=1, rules=["map"], boosting=True))
    assert "or use gradient boosting, in Python comparison.peers['boosting']." in beside.headline
    probably = [replace(judged.against[0], kind="leaning")]
    monkeypatch.setattr("bayesclf.report.verdict._standing_of_boosting", lambda _: probably)
    assert verdict(found).next_step.startswith("gather rows")


def test_decisions_no_cheaper_than_one_for_all_rows_are_named(rare_rows):
    found = compared({"nb": bc.GaussianNB()}, rare_rows, RARE, rules=["map"], cost=[[0, 1], [5, 0]])
    cost = facts(found, found.best, found.classes, found.order)[2]
    assert cost.baseline == "0.500"  # "no" for all: a tenth of the rows at 5 each
    dear = compared({"nb": bc.GaussianNB()}, rare_rows, RARE, rules=["map"], cost=[[0, 1], [1, 0]])
    judged = verdict(dear)
    assert "always deciding for 'no'" in str(dear)
    assert "always deciding for 'no' (0.100)" in " ".join(judged.cautions)
    assert judged.headline.endswith("But at the given costs no model is clearly cheaper than always deciding for 'no'.")


@pytest.mark.parametrize(("seed", "shift", "said"), [(123, 1.0, "Use "), (14, 0.62, "No model is clearly better than")])
def test_each_model_is_compared_with_the_class_shares_by_itself(seed, shift, said):
    """With the other model, a difference of 2.3 standard errors is not clear; and a negative one is no gain."""
    rng = np.random.default_rng(seed)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 2))
    X[:, 0] += shift * y
    models = {"nb": bc.GaussianNB(), "lr": bc.LogisticRegression(prior_scale=1.0, inference="map")}
    found = bc.compare(models, X, y, ["map"], random_state=0, repeats=1, progress=False, boosting=False)
    assert verdict(found).headline.startswith(said)


def test_a_network_is_advised_where_columns_depend_on_each_other_and_none_was_tried():
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame(rng.integers(2, size=(200, 3)), columns=list("abc")).astype(str), np.arange(200) % 2
    for frame, advised in ((X, False), (X.assign(d=X["a"]), True)):
        nb, tan = (clf.fit(frame, y) for clf in (bc.NaiveBayes(), bc.BayesNetClassifier()))
        assert all(("--models tan" in may_help([nb], frame, y, boosting)) == advised for boosting in (False, True))
        assert "tan" not in may_help([nb, tan], frame, y)


def test_one_drawn_hypothesis_is_no_disagreement(play_tennis):
    rules = ["map", "bayes-optimal", "gibbs"]
    found = bc.compare({"nb": bc.NaiveBayes(random_state=1)}, play_tennis.X, play_tennis.y, rules, cv=2, repeats=1)
    assert (found.disagreements["map"] != found.disagreements["bayes-optimal"]).all()
    assert "gibbs" in found.disagreements
    line = found.table.set_index("rule").loc["gibbs"]
    votes = [
        part.votes[np.arange(14), found.stacked("nb", "bayes-optimal")[0].argmax(axis=1)]
        for part in found.answers["nb", "gibbs"].scores
    ]
    assert line["disagreement"] == pytest.approx(1 - np.mean(votes))
    assert np.isnan(line["calibration_error"])
    assert "by Jensen's inequality" in " ".join(verdict(found).findings)
