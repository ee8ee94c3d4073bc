"""What no classifier can use: tables, labels and options that are refused in one sentence."""

import pandas as pd
import pytest

import bayesclf as bc
from bayesclf.classifiers import CLASSIFIERS
from bayesclf.errors import InputError

GOOD = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "dose": [0.5, 0.1, 0.2, 0.9]})
LABELS = ["a", "b", "a", "b"]


def good(kind):
    """Return the table with its cells as this kind of classifier takes them."""
    return GOOD.astype(str) if kind in (bc.JointBayes, bc.BayesNetClassifier) else GOOD


def changed(column, row, value):
    X = GOOD.astype(object)
    X.loc[row, column] = value
    return X.infer_objects()


def sentence(call):
    """Return the message of the `InputError` that a call ends in, which must be one line."""
    with pytest.raises(InputError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    return message


TABULAR = {name: kind for name, kind in CLASSIFIERS.items() if kind is not bc.TextNB}
every_kind = pytest.mark.parametrize("kind", TABULAR.values(), ids=TABULAR)


@every_kind
@pytest.mark.parametrize(
    ("X", "y", "parts"),
    [
        (GOOD.set_axis(["age", "age"], axis=1), LABELS, ["column names must differ", "'age'"]),
        (GOOD, ["a", "a", "a", "a"], ["y has one class only", "'a'"]),
        (GOOD, ["a", "b"], ["X has 4 rows but y", "2"]),
        (GOOD, None, ["y is None"]),
        (GOOD[:0], [], ["X has no rows"]),
        (GOOD.assign(age=pd.Timestamp("2026-01-01")), LABELS, ["column 'age' holds dates"]),
    ],
    ids=["duplicate names", "one class", "lengths", "no labels", "no rows", "dates"],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_input_that_cannot_be_learnt_from(kind, method, X, y, parts):
    if not hasattr(kind, method):
        pytest.skip("a discriminative classifier has no partial_fit")
    message = sentence(lambda: getattr(kind(inference="map"), method)(X, y))
    assert all(part in message for part in parts), message


numeric = pytest.mark.parametrize("kind", [bc.GaussianNB, bc.NaiveBayes, bc.LogisticRegression])


@numeric
def test_words_at_prediction_are_not_numbers(kind):
    clf = kind(inference="map").fit(GOOD, LABELS)
    assert "column 'age' holds 'old'" in sentence(lambda: clf.predict(changed("age", 1, "old")))


@every_kind
def test_what_cannot_be_predicted_is_named(kind):
    clf = kind(inference="map").fit(good(kind), LABELS)
    assert "lacks column 'dose'" in sentence(lambda: clf.predict(GOOD[["age"]]))
    assert "X has no rows" in sentence(lambda: clf.predict(GOOD[:0]))
    assert "unknown rule 'guess'; the rules are mle, map" in sentence(lambda: clf.predict(GOOD, rule="guess"))


@pytest.mark.parametrize(
    ("blocks", "part"),
    [
        ({"size": "gaussian"}, "blocks names column 'size', but the table has 'age', 'dose'"),
        ({0: "gaussian"}, "blocks names column '0', but the table has 'age', 'dose'"),
        ({"age": "weibull"}, "'weibull' is not a family; give one of categorical, gaussian"),
        ({"age": "gaussian", ("age", "dose"): "gaussian"}, "blocks names column 'age' twice"),
    ],
)
def test_blocks_are_checked(blocks, part):
    assert part in sentence(lambda: bc.NaiveBayes(blocks).fit(GOOD, LABELS))
