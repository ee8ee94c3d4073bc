"""Decision boundaries: the lines are where the classifier's own answers change."""

import numpy as np
import pandas as pd
import pytest
from helpers.drawn import line, texts
from matplotlib.colors import to_hex

import bayesclf as bc
from bayesclf import plots
from bayesclf.errors import InputError, Refused
from bayesclf.plots import answers, style


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    """Compute probabilities at fewer points, which is faster and as true."""
    monkeypatch.setattr(answers, "GRID", 61)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    y = np.repeat(["no", "yes"], 30)
    X = pd.DataFrame(rng.normal(size=(60, 2)) + 1.5 * (y == "yes")[:, None], columns=["a", "b"])
    return X, y


@pytest.fixture(scope="module")
def fit(rows):
    return bc.GaussianDiscriminantAnalysis(inference=bc.engines.Exact(draws=100), random_state=0).fit(*rows)


def test_the_line_of_equal_variances_is_the_perpendicular_bisector_of_the_means():
    X = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 6.0], [6.0, 6.0], [0.0, 2.0], [2.0, 2.0], [4.0, 8.0], [6.0, 8.0]])
    y = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    fit = bc.GaussianNB(variance="shared", inference="map").fit(X, y)
    drawn = line(plots.decision_boundary(fit, X, y, rules=["map"], draws=0).axes[0], "map")[:-1]
    middle, between = np.array([3.0, 4.0]), np.array([4.0, 6.0])
    np.testing.assert_allclose((drawn - middle) @ between, 0, atol=1e-9)
    assert np.ptp(drawn[:, 0]) > 5


def test_on_the_line_both_classes_are_equally_probable(rows, fit):
    figure = plots.decision_boundary(fit, *rows, rules="all")
    for rule in (rule for rule in bc.rules.RULES if rule != "gibbs"):
        points = line(figure.axes[0], rule)
        points = points[~np.isnan(points[:, 0])]
        assert len(points) > 20
        probability = fit.predict_proba(pd.DataFrame(points, columns=["a", "b"]), rule=rule)
        np.testing.assert_allclose(probability, 0.5, atol=0.01)


def test_thin_lines_are_hypotheses_of_the_posterior(rows, fit):
    ax = plots.decision_boundary(fit, *rows, rules=["map"], draws=7).axes[0]
    thin = [line.get_xydata()[:-1] for line in ax.lines if line.get_linewidth() == 0.5]
    assert len(thin) == 7
    draws = fit.posterior_["posterior"].to_dataset().stack(sample=("chain", "draw"))
    (first, *_, last) = thin
    for points, place in ((first, 0), (last, -1)):
        one = draws.isel(sample=place)
        means = one["mu"].transpose("outcome", "feature").values
        precision = np.linalg.inv(one["Sigma"].values.reshape(2, 2))
        odds = [-0.5 * np.einsum("pi,ij,pj->p", points - mean, precision, points - mean) for mean in means]
        prior = np.log(one["pi"].values)
        np.testing.assert_allclose(odds[0] + prior[0], odds[1] + prior[1], atol=1e-6)


def test_rows_stand_where_they_are_in_the_color_of_their_class(rows, fit):
    X, y = rows
    ax = plots.decision_boundary(fit, X, y).axes[0]
    for k, (label, marks) in enumerate(zip(("no", "yes"), ax.collections, strict=True)):
        np.testing.assert_allclose(marks.get_offsets(), X[y == label])
        assert marks.get_label() == label
        assert to_hex(marks.get_facecolor()[0]) == style.class_color(k)


def three_regions():
    """Return log P of three classes whose best are sectors that meet at the origin."""
    places = np.linspace(-1, 1, 101)
    x, y = np.meshgrid(places, places)
    directions = np.array([[0.0, 1.0], [np.sqrt(0.75), -0.5], [-np.sqrt(0.75), -0.5]])
    return places, np.stack([x * a + y * b for a, b in directions], axis=2)


def test_three_classes_meet_in_a_point_and_each_piece_comes_once():
    places, scores = three_regions()
    lines = answers.boundaries(places, places, scores)
    nearest = [np.linalg.norm(piece, axis=1).min() for piece in lines]  # the first class's border, and between the rest
    np.testing.assert_allclose(nearest, [0, 0], atol=0.02)
    points = np.concatenate(lines)
    away = points[np.linalg.norm(points, axis=1) > 0.1]
    directions = np.array([[0.0, 1.0], [np.sqrt(0.75), -0.5], [-np.sqrt(0.75), -0.5]])
    best = np.sort(away @ directions.T, axis=1)
    np.testing.assert_allclose(best[:, -1], best[:, -2], atol=1e-9)
    assert (away[np.abs(away[:, 0]) < 1e-9, 1] < 0).all()
    length = sum(np.linalg.norm(np.diff(piece, axis=0), axis=1).sum() for piece in lines)
    assert length == pytest.approx(1 + 2 / np.cos(np.pi / 6), abs=0.03)


def test_a_class_never_predicted_and_constant_probabilities_have_no_line():
    places = np.linspace(0, 1, 5)
    scores = np.log(np.broadcast_to([0.5, 0.3, 0.2], (5, 5, 3)))
    assert answers.boundaries(places, places, scores) == []
    scores = np.where(np.arange(3) == 1, -np.inf, three_regions()[1][::25, ::25])
    assert len(answers.boundaries(places, places, scores)) == 1


def test_other_columns_are_fixed_and_said_to_be(rows):
    X, y = rows
    X = X.assign(c=np.arange(60.0), word=np.where(np.arange(60) % 3, "often", "rare"), bit=np.arange(60) % 5 == 0)
    fit = bc.NaiveBayes(random_state=0).fit(X, y)
    found = answers.plane_of(fit, X, ("b", "a"), np.zeros(60))
    assert found.points.columns.tolist() == ["a", "b", "c", "word", "bit"]
    assert found.points[["c", "word", "bit"]].drop_duplicates().values.tolist() == [[29.5, "often", False]]
    figure = plots.decision_boundary(fit, X, y, features=("b", "a"))
    assert "b\nthe 3 other columns held at mean or mode" in texts(figure)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"features": ("a", "z")}, "no column 'z'"),
        ({"features": ("a", "a")}, "two different columns"),
        ({"rules": ["gibbs"]}, "no single boundary"),
        ({"rules": ["svm"]}, "unknown rule 'svm'"),
        ({"rules": []}, "rules must be a list of names of rules"),
    ],
)
def test_what_cannot_be_drawn_is_named(rows, fit, arguments, sentence):
    with pytest.raises((InputError, Refused), match=sentence):
        plots.decision_boundary(fit, *rows, **arguments)


def test_more_columns_words_and_other_labels_are_named(rows):
    X, y = rows
    X = X.assign(word="w")
    fit = bc.NaiveBayes(random_state=0).fit(X, y)
    with pytest.raises(InputError, match="name the two to draw"):
        plots.decision_boundary(fit, X, y)
    with pytest.raises(InputError, match="'word' holds words"):
        plots.decision_boundary(fit, X, y, features=("a", "word"))
    with pytest.raises(InputError, match="lacks column 'word'"):
        plots.decision_boundary(fit, X[["a", "b"]], y, features=("a", "b"))
    with pytest.raises(InputError, match="'other' was not among"):
        plots.decision_boundary(fit, X, ["other"] * 60, features=("a", "b"))
    with pytest.raises(Refused, match="has no posterior"):
        plots.decision_boundary(bc.GaussianNB(inference="map").fit(X[["a", "b"]], y), X, y, rules=["bayes-optimal"])


def test_of_one_column_boundaries_are_where_the_answers_change_and_classes_have_their_order(rows):
    X, y = rows
    y = pd.Series(pd.Categorical(y, ["yes", "no"], ordered=True))
    clf = bc.GaussianNB(random_state=0).fit(X[["a"]], y)
    ax = plots.decision_boundary(clf, X[["a"]], y, rules=["map"]).axes[0]
    (place,) = np.unique(line(ax, "map")[:-1, 0].round(9))
    np.testing.assert_allclose(clf.predict_proba(pd.DataFrame({"a": [place]}), rule="map"), 0.5, atol=0.01)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["yes", "no"]
    assert [len(marks.get_offsets()) for marks in ax.collections] == [30, 30]
    assert set(ax.collections[0].get_offsets()[:, 1]) == {0.0}
    with pytest.raises(InputError, match="two different columns"):
        plots.decision_boundary(clf, X[["a"]], y, features=("a",))
