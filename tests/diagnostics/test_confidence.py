"""Over-confidence and its cause: each cause is named where it is the cause, and not where another is."""

import numpy as np
import pandas as pd
import pytest
from helpers.faults import few_rows, gaussian, logistic, normal_rows, repeated

import bayesclf as bc
from bayesclf.diagnostics.causes import Cause, Explanation, Step

NAMES = {
    "rows": "the cause is few rows",
    "prior": "the cause is the prior",
    "independence": "the cause is what the model assumes about its columns, independence",
    "shape": "the cause is what the model assumes about its columns, their shape",
    None: "the cause is not identified",
}


def found(case, code="Y03", **arguments):
    clf, (X, y) = case
    return clf.diagnose(X, y, checks=[code], **arguments)[code]


def named(finding):
    """Return which cause is named; "nothing" where there is no over-confidence."""
    said = [name for name, words in NAMES.items() if words in finding.reason]
    return said[0] if said else "nothing"


def log_normal(rows=400, seed=1):
    X, y = normal_rows(rows, 6, distance=0.6, seed=seed)
    return gaussian(np.exp(1.2 * X), y)


def test_over_confidence_of_dependent_columns_comes_from_their_independence():
    finding = found(repeated())
    assert (finding.section, named(finding)) == ("issue", "independence")
    assert "bayes-optimal" not in finding.next_step
    removed = finding.evidence.set_index("rule")["removed"].dropna()
    assert removed["permuting columns within the classes"] > 0.15
    assert abs(removed["going from half of the rows to all"]) < 0.05


@pytest.mark.slow
def test_over_confidence_of_log_normal_columns_comes_from_their_shape_and_not_from_few_rows():
    finding = found(log_normal())
    assert (finding.section, named(finding)) == ("issue", "shape")
    assert "transform" in finding.next_step


def test_over_confidence_of_one_estimate_is_removed_by_averaging_with_its_error():
    finding = found(few_rows())
    assert finding.section == "issue"
    assert "averaging over the posterior removes +0.0" in finding.reason
    assert "'bayes-optimal'" in finding.next_step
    gap = finding.evidence.set_index("rule")["over_confidence"]
    assert gap["bayes-optimal"] < gap["mean"] - 0.05
    clf, rows = few_rows()
    passed = found((clf.set_params(rule="bayes-optimal"), rows))
    assert passed.section == "passed"
    assert "averaging removes +0.0" in passed.reason


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")
def test_few_rows_and_the_prior_of_true_models_are_not_blamed_on_assumptions_nor_one_on_the_other():
    """Logistic regression of 20 independent columns, which averaging leaves over-confident under the default prior."""
    said = [
        named(found(logistic(*normal_rows(60, 20, 0.3, seed), inference=bc.Laplace(draws=500, limit=np.inf))))
        for seed in range(4)
    ]
    assert set(said) <= {None, "nothing"}
    assert None in said


@pytest.mark.slow
def test_the_cause_does_not_change_with_the_seed():
    """Of three kinds of rows, six samples each: the cause that is true, or none."""
    cases = {
        "independence": lambda seed: gaussian(*_repeated(seed)),
        "shape": lambda seed: log_normal(seed=seed),
        None: lambda seed: gaussian(*normal_rows(60, 30, distance=0.2, seed=seed)),
    }
    for true, case in cases.items():
        said = [named(found(case(seed))) for seed in range(6)]
        assert set(said) <= {true, None, "nothing"}, said
        assert true is None or said.count(true) >= 4, said


def _repeated(seed):
    X, y = normal_rows(400, 1, seed=seed)
    noise = np.random.default_rng(seed).normal(0, 0.05, size=(400, 6))
    return pd.DataFrame(X.to_numpy() + noise, columns=list("abcdef")), y


GAP = Step(0.2, 0.01)


@pytest.mark.parametrize(
    ("removed", "cause"),
    [
        ([0.19, 0.01, 0.0], 0),
        ([0.01, 0.19, -0.3], 1),
        ([0.19, 0.19, 0.0], None),  # two would do
        ([0.19, 0.09, 0.0], None),  # the second may be half of it
        ([0.01, 0.02, -0.3], None),  # none is it
        ([0.19, None, 0.0], None),  # one was not tested
    ],
)
def test_a_cause_is_named_only_if_the_others_are_ruled_out(removed, cause):
    steps = [None if mean is None else Step(mean, 0.01) for mean in removed]
    made = tuple(Cause(name, "that", name, step) for name, step in zip("abc", steps, strict=True))
    explanation = Explanation(GAP, made)
    assert explanation.cause is (None if cause is None else made[cause])
    assert ("not identified" in str(explanation)) == (cause is None)
    if cause is None:
        assert "ruled out" not in str(explanation)
        told = sorted(made, key=lambda one: str(explanation).index(str(one)))
        sizes = [-np.inf if one.removed is None else one.removed.mean for one in told]
        assert sizes == sorted(sizes, reverse=True)
        helpful = [one.name for one in told if one.removed is None or one.removed.mean > -0.02]
        assert explanation.next_step == f"try, and compare: {'; '.join(helpful)}"
    else:
        assert explanation.next_step == made[cause].remedy


def test_under_confidence_that_independence_causes_is_not_blamed_on_the_prior():
    """Two columns whose difference tells the class, each with noise that they share."""
    rng = np.random.default_rng(1)
    codes = np.arange(400) % 2
    shared, own = rng.normal(0, 3, size=400), rng.normal(0, 0.5, size=(400, 2))
    X = pd.DataFrame({"a": shared + codes + own[:, 0], "b": shared - codes + own[:, 1]})
    finding = found(gaussian(X, codes), "Y02")
    assert "under-confident" in finding.reason
    assert named(finding) == "independence"
    assert "GaussianDiscriminantAnalysis" in finding.next_step
    assert "prior" not in finding.next_step


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["map", "auto"])
def test_a_prior_that_is_too_narrow_is_tested_under_the_rule_of_the_fit(engine):
    X, y = normal_rows(300)
    clf = bc.LogisticRegression(prior_scale=0.05, inference=engine, random_state=1).fit(X, y)
    found = clf.diagnose(X, y, checks=["Y02"])["Y02"]
    assert found.section == "issue"
    assert "under-confident" in found.reason
    assert "prior" in found.next_step


@pytest.mark.slow
def test_the_pairs_that_independence_is_wrong_about_are_named():
    X, y = normal_rows(400, 3, seed=2)
    noise = np.random.default_rng(2).normal(0, 0.05, size=(400, 2))
    X = X.set_axis(list("abc"), axis=1).assign(d=X.iloc[:, 0] + noise[:, 0], e=X.iloc[:, 0] + noise[:, 1])
    finding = found(gaussian(X, y))
    assert named(finding) == "independence"
    assert "(taken for independent, but probably dependent given the class: " in finding.next_step
    assert all(pair in finding.next_step for pair in ("'a' with 'd'", "'a' with 'e'", "'d' with 'e'"))
    assert "'b' with" not in finding.next_step


@pytest.mark.slow
def test_a_table_without_names_is_refitted_without_a_warning():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = (y + rng.normal(0, 1.5, 200))[:, None] + rng.normal(0, 0.05, (200, 10))
    clf = bc.GaussianNB(random_state=1).fit(X, y)
    assert "permuting columns within the classes" in clf.diagnose(X, y, checks=["Y03"])["Y03"].reason
