"""Logistic regression of a table that is read batch by batch: what `fit` finds, and sentences for what it cannot do."""

import numpy as np
import pandas as pd
import pytest
from helpers.clients import Within
from helpers.suites import mainly
from sklearn.base import clone

import bayesclf as bc
from bayesclf.classifiers import logistic
from bayesclf.errors import DoesNotExist, InputError, Refused

FEATURES = ["age", "dose", "twice", "same", "ward", "some"]


@pytest.fixture(scope="module")
def table():
    """Three classes, numbers far from 0 and with gaps, twins, a constant column, and categories."""
    rng = np.random.default_rng(0)
    rows = 400
    age = 5000 + 100 * rng.normal(size=rows)
    ward = rng.choice(list("uvwxyz"), rows)
    score = (age - 5000) / 100 + (ward == "u") + rng.logistic(size=rows)
    frame = pd.DataFrame(
        {
            "age": age,
            "dose": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows)),
            "twice": 2 * age + 1,
            "same": 3.0,
            "ward": ward,
            "some": np.where(rng.random(rows) < 0.2, None, rng.choice(["a", "b"], rows)),
            "weight": rng.uniform(0.5, 2.0, rows),
            "y": np.array(["low", "middle", "high"])[np.digitize(score, [-0.5, 1.0])],
        }
    )
    return frame.sort_values(["y", "ward"], ignore_index=True)  # classes and levels come late


def batches(table, size=60):
    return [table[start : start + size] for start in range(0, len(table), size)]


def assert_same_fit(whole, streamed, X):
    """Compare modes and posterior draws with those of a fit in memory."""
    assert streamed.columns_ == whole.columns_
    assert list(streamed.classes_) == list(whole.classes_)
    assert streamed.notes_ == whole.notes_
    for name, values in whole._point("map").items():
        np.testing.assert_allclose(streamed._point("map")[name], values, atol=1e-8, rtol=1e-8, err_msg=name)
    np.testing.assert_allclose(streamed.predict_proba(X, "map"), whole.predict_proba(X, "map"), atol=1e-8)
    if whole.draws_ is not None:
        np.testing.assert_allclose(streamed.predict_proba(X), whole.predict_proba(X), atol=1e-6)
        for name in ("pareto_k", "importance_ess"):
            np.testing.assert_allclose(streamed.draws_.stats[name], whole.draws_.stats[name], rtol=1e-4, atol=1e-4)


SETTINGS = {
    "learned": {},
    "fixed": {"prior_scale": 2.5},
    "independent": {"prior_scale": bc.LearnedScale(correlation=0)},
    "correlation": {"prior_scale": bc.LearnedScale(correlation=0.5)},
    "given": {"prior_scale": {"age": 1.0}},
    "reference": {"prior_scale": 1.0, "prior_form": "reference", "intercept_at": "zero"},
    "own units": {"prior_scale": 0.5, "standardize": False},
    "map": {"inference": "map"},
    "fixed map": {"inference": "map", "prior_scale": 2.5},
}


@pytest.mark.parametrize("classes", mainly([2, 3], 3))
@pytest.mark.parametrize("name", mainly(SETTINGS, "learned", "given", "reference", "map"))
def test_a_stream_is_fitted_as_in_memory(name, classes, table):
    frame = table if classes == 3 else table[table["y"] != "middle"]
    clf = bc.LogisticRegression(random_state=1, **SETTINGS[name])
    whole = clone(clf).fit(frame[FEATURES], frame["y"])
    rows = frame.drop(columns="weight")
    assert_same_fit(whole, clone(clf).fit_stream(batches(rows), "y"), frame[FEATURES])


def test_weights_count_and_rows_of_weight_zero_do_not(table):
    frame = table.assign(weight=table["weight"].where(np.arange(len(table)) % 7 > 0, 0.0))
    extra = frame[:3].assign(weight=0.0, ward="none has it")
    frame = pd.concat([extra, frame, extra])
    clf = bc.LogisticRegression(random_state=1)
    streamed = clone(clf).fit_stream(batches(frame, 37), "y", weight="weight")
    whole = clone(clf).fit(frame[FEATURES], frame["y"], sample_weight=frame["weight"])
    assert_same_fit(whole, streamed, table[FEATURES])


@pytest.mark.slow
def test_rows_that_are_not_kept_are_read_for_each_sum(table, tmp_path, monkeypatch):
    table.drop(columns="weight").to_parquet(tmp_path / "t.parquet", row_group_size=90)
    clf = bc.LogisticRegression(random_state=1, inference="map")
    kept = clone(clf).fit_stream(tmp_path / "t.parquet", "y")
    monkeypatch.setattr(logistic, "KEPT_CELLS", 100)
    told = []
    read = clone(clf).fit_stream(tmp_path / "t.parquet", "y", progress=lambda *news: told.append(news))
    np.testing.assert_array_equal(read.predict_proba(table[FEATURES]), kept.predict_proba(table[FEATURES]))
    passes = {what.split(",")[1] for what, _, _ in told}
    assert 20 < len(passes) < 60
    function = clone(clf).fit_stream(lambda: iter(batches(table.drop(columns="weight"))), "y")
    np.testing.assert_allclose(function.predict_proba(table[FEATURES]), kept.predict_proba(table[FEATURES]), atol=1e-9)


def test_many_columns_take_few_passes(rng, monkeypatch):
    alike = rng.normal(size=(300, 1)) + 0.3 * rng.normal(size=(300, 210))
    frame = pd.DataFrame(alike, columns=[f"x{i}" for i in range(210)])
    frame["y"] = np.where(frame["x0"] + rng.logistic(size=300) > 0, "yes", "no")
    monkeypatch.setattr(logistic, "KEPT_CELLS", 100)
    told = []
    clf = bc.LogisticRegression(prior_scale=2.5, inference="map", random_state=1)
    clf.fit_stream(lambda: iter([frame]), "y", progress=lambda *news: told.append(news))
    assert 2 < len({what.split(",")[1] for what, _, _ in told}) < 15


@pytest.mark.slow
def test_parts_on_dask_are_the_whole(table, tmp_path):
    pytest.importorskip("dask", reason="Dask, the extra 'dask', is not installed")
    rows = table.drop(columns="weight")
    clf = bc.LogisticRegression(random_state=1)
    whole = clone(clf).fit(rows[FEATURES], rows["y"])
    first = rows[:100].assign(some=None)
    joined = pd.concat([first, rows[100:]])
    assert_same_fit(whole, clone(clf).fit_stream(batches(rows), "y", client=Within()), rows[FEATURES])
    for number, part in enumerate([rows[:0], first, rows[100:150], rows[150:]]):
        part.to_parquet(tmp_path / f"{number}.parquet")
    streamed = clone(clf).fit_stream(tmp_path, "y", client=Within())
    assert_same_fit(clone(clf).fit(joined[FEATURES], joined["y"]), streamed, rows[FEATURES])
    with pytest.raises(InputError, match="there is no row to learn from"):
        clone(clf).fit_stream([rows[:0]], "y", client=Within())
    with pytest.raises(InputError, match="column 'dose' is in one part and not in another"):
        clone(clf).fit_stream([rows[:200], rows[200:].drop(columns="dose")], "y", client=Within())


def test_what_needs_the_rows_is_refused(table):
    X, rows = table[FEATURES], table.drop(columns="weight")
    clf = bc.LogisticRegression(random_state=1).fit_stream(batches(rows), "y")
    with pytest.raises(DoesNotExist, match="does not keep its rows, which maximum likelihood needs"):
        clf.predict_proba(X, "mle")
    with pytest.raises(Refused, match="does not keep its rows"):
        clf.model_.pymc()
    assert "M01" in str(clf.diagnose())
    whole = bc.LogisticRegression(random_state=1).fit(X, rows["y"])
    assert abs(clf.loo(X, rows["y"]).elpd - whole.loo(X, rows["y"]).elpd) < 1e-3
    with pytest.raises(InputError, match=r"as many rows of each class .* but not the same ones"):
        clf.loo(X.assign(dose=0.0), rows["y"])


@pytest.mark.slow
def test_leaving_out_a_row_exactly_is_that_of_a_fit_in_memory(table):
    X, rows = table[FEATURES], table.drop(columns="weight")
    few = slice(0, len(rows), 20)
    for prior_scale in ("learned", 2.5):
        settings = {"prior_scale": prior_scale, "inference": "map"}
        fits = bc.LogisticRegression(**settings), bc.LogisticRegression(**settings)
        fits[0].fit(X[few], rows["y"][few])
        fits[1].fit_stream(rows[few], "y")
        one, other = (fit.loo(X[few], rows["y"][few], rule="map", method="exact").elpd for fit in fits)
        assert abs(one - other) < 1e-6


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"inference": "nuts"}, "inference='nuts' needs all rows at once"),
        ({"inference": "mle"}, "inference='mle' needs all rows at once"),
        ({"inference": bc.engines.MAP(optimizer=bc.engines.GradientAscent())}, "needs all rows at once"),
        ({"intercept_scale": np.inf}, "over batches a flat prior is not allowed"),
    ],
)
def test_settings_that_need_all_rows_are_refused(settings, complaint, table):
    clf = bc.LogisticRegression(**settings)
    with pytest.raises(Refused, match=complaint):
        clf.fit_stream(batches(table), "y")
    assert not hasattr(clf, "classes_")


def test_rows_that_cannot_be_used_are_said(table):
    rows = table.drop(columns="weight")
    clf = bc.LogisticRegression(inference="map", missing="error")
    with pytest.raises(InputError, match="the iterable can be read only once; give files, a list"):
        clf.fit_stream(iter(batches(rows)), "y")
    with pytest.raises(InputError, match=r"table 1 of the iterable, counting from row 1 .*'dose' has missing cells"):
        clf.fit_stream(batches(rows), "y")
    with pytest.raises(InputError, match="'y' has one class only, 'high'"):
        clf.fit_stream(batches(rows[rows["y"] == "high"]), "y")
    few = pd.DataFrame({"x": np.arange(6.0), "y": list("aaabbb")})
    for inference in ("auto", "laplace"):  # neither names the other, nor NUTS, which batches do not have
        with pytest.raises(Refused, match=r"in memory, or (use )?inference='map' and (its )?plug-in rules$"):
            bc.LogisticRegression(prior_scale=200.0, inference=inference, random_state=1).fit_stream(few, "y")
    point = bc.LogisticRegression(prior_scale=200.0, inference="map").fit_stream(few, "y")
    assert point.predict(few[["x"]], rule="map").tolist() == list("aaabbb")


def test_a_column_of_words_can_have_any_name(tmp_path):
    (tmp_path / "t.csv").write_text("self,y\n" + "a,p\nb,q\n" * 30)
    assert bc.CategoricalNB().fit_stream(tmp_path / "t.csv", "y").feature_names_in_.tolist() == ["self"]
