"""Natural mistakes at a prompt are answered by one sentence that says what to give instead."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import bayesclf as bc
from bayesclf.errors import InputError

Y = np.array(["no", "yes"] * 20)
X = np.random.default_rng(0).normal(size=(40, 2)) + (Y == "yes")[:, None]
FRAME = pd.DataFrame(X, columns=["a", "b"])
FIT = bc.GaussianNB(random_state=1).fit(FRAME, Y)

MISTAKES = {
    "a classifier as prior": (
        lambda: bc.GaussianNB(prior=FIT.as_prior()).fit(FRAME, Y),
        r"prior must be what as_prior has set, not GaussianNB; the classifier that clf.as_prior\(\) returns",
    ),
    "an optimizer's class": (
        lambda: bc.engines.MAP(bc.engines.Newton),
        r"optimizer must be an optimizer, such as bc.engines.GradientAscent\(\)",
    ),
    "an engine's class": (
        lambda: bc.GaussianNB(inference=bc.engines.NUTS).fit(FRAME, Y),
        r"inference must be a name or an engine's settings, such as bc.engines.NUTS\(\)",
    ),
    "a classifier's class": (lambda: bc.compare({"nb": bc.GaussianNB}, X, Y), r"such as {'nb': NaiveBayes\(\)}"),
    "the name of a column as labels": (
        lambda: bc.GaussianNB().fit(FRAME, "a"),
        r"y must be the labels, one per row, not the name 'a'; give the column itself, table\['a'\]",
    ),
    "a data set as table": (
        lambda: bc.GaussianNB().fit(bc.datasets.load("play_tennis"), Y),
        r"X must be a table, not a data set; give its table and labels, as in fit\(data.X, data.y\)",
    ),
    "a mapping as row": (lambda: FIT.predict({"a": 1.0, "b": 2.0}), r"not a mapping; give pandas.DataFrame\(\[X\]\)"),
    "a model as file": (lambda: bc.load(FIT), "path must be the name of a file that save wrote, not GaussianNB"),
    "an experiment's name": (
        lambda: bc.experiments.run("gibbs-bound", None, "folder"),
        r"experiment must be a module, such as experiments.find\('ng-jordan'\) returns, not 'gibbs-bound'",
    ),
    "an experiment without settings": (
        lambda: bc.experiments.run(bc.experiments.find("gibbs-bound"), None, "folder"),
        "settings must be gibbs-bound's own",
    ),
    "scores of a classifier": (
        lambda: bc.plots.rule_scores(FIT),
        "comparison must be the result of bayesclf.compare, not GaussianNB",
    ),
    "an explanation of a classifier": (
        lambda: bc.plots.explanation(FIT),
        r"found must be the result of clf.explain\(X",
    ),
    "learning curves of nothing": (
        lambda: bc.plots.learning_curve(None),
        "curve must be the result of bayesclf.learning_curve",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_it_is_answered_by_a_sentence(mistake):
    call, sentence = MISTAKES[mistake]
    with pytest.raises(InputError, match=sentence) as raised:
        call()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda clf: clf.predict(X),
        lambda clf: clf.score(X, Y),
        lambda clf: clf.posterior_,
        lambda clf: clf.explain(X),
        lambda clf: clf.diagnose(),
        lambda clf: clf.save("model.nc"),
        lambda clf: bc.loo(clf, X, Y),
        lambda clf: bc.plots.decision_boundary(clf, X, Y),
    ],
)
def test_what_needs_a_fit_says_so(call):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        call(bc.GaussianNB())


@pytest.mark.slow
def test_python_without_docstrings_has_every_public_name():
    program = """
import bayesclf as bc
for name in bc.__all__:
    for member in getattr(getattr(bc, name), "__all__", ()):
        getattr(getattr(bc, name), member)
print(bc.NaiveBayes().fit([[1.0], [2.0]], ["a", "b"]).predict([[2.0]]).shape)
"""
    said = subprocess.run([sys.executable, "-OO", "-c", program], capture_output=True, text=True, check=True).stdout
    assert said == "(1,)\n"
