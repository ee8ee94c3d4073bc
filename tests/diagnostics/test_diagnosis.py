"""The diagnosis as a whole: every classifier can be diagnosed, whatever its data, and the report reads well."""

import numpy as np
import pandas as pd
import pytest
from helpers.effort import calls
from helpers.faults import diagnose, gaussian, logistic, naive, normal_rows, repeated, word_rows
from helpers.pages import Page
from helpers.suites import mainly
from scipy import sparse

import bayesclf as bc
from bayesclf.classifiers import CLASSIFIERS
from bayesclf.diagnostics import CHECKS, Diagnosis, Finding
from bayesclf.errors import InputError

TEXTS = ["win a prize now", "claim the prize", "see you at lunch", "lunch now?", "a prize for lunch"] * 12
SPAM = (["spam", "spam", "ham", "ham", "spam"] * 12)[:60]


def table(name):
    """Return training rows that a classifier takes, with a class that is rare."""
    X, y = word_rows(60)
    y = np.where(np.arange(60) < 3, "maybe", y)
    match name:
        case "text":
            return TEXTS, SPAM
        case "bernoulli" | "multinomial":
            return (X[["rain"]] > 0).astype(float).assign(snow=np.arange(60) % 2), y
        case "categorical" | "tan" | "joint":
            return X[["wind"]].assign(rain=np.where(X["rain"] > 0, "yes", "no").astype(object)), y
        case "gnb" | "gda":
            return X[["rain"]].assign(snow=np.arange(60) % 7), y
        case _:
            return X, y


@pytest.mark.parametrize("name", mainly(CLASSIFIERS, "nb", "lr"))
def test_every_classifier_can_be_diagnosed(name):
    X, y = table(name)
    clf = CLASSIFIERS[name](random_state=1, **({"inference": "laplace"} if name == "lr" else {})).fit(X, y)
    for arguments in ({}, {"X": X, "y": y, "new": X[:7]}):
        found = clf.diagnose(**arguments)
        assert [finding.code for finding in found.findings] == list(CHECKS)
        assert all(finding.reason for finding in found.findings)
        assert all(bool(finding.next_step) == (finding.section in ("issue", "tip")) for finding in found.findings)
        assert str(found)
        assert found._repr_html_()


@pytest.mark.slow
def test_sparse_tables_can_be_diagnosed():
    rng = np.random.default_rng(1)
    X = sparse.csr_array(rng.poisson(0.3, size=(80, 30)))
    y = np.arange(80) % 2
    for clf in (bc.MultinomialNB(random_state=1), bc.BernoulliNB(random_state=1)):
        found = clf.fit(X, y).diagnose(X, y, new=X[:5])
        assert "sparse" in found["M07"].reason
        assert len(found["Y01"].evidence)
        assert found["Y06"].section == "not applicable"


def test_a_table_may_have_its_columns_in_another_order_among_others():
    (clf, (X, y)) = gaussian(*normal_rows(60))
    other = X[["x1", "x0"]].assign(note="none")
    one, two = (clf.diagnose(table, y, new=table[:5], checks=["M", "Y01", "Y06"]) for table in (X, other))
    pd.testing.assert_frame_equal(one.table, two.table)


def test_a_diagnosis_changes_nothing():
    clf, (X, y) = naive(*word_rows(60))
    before, table = clf.predict_proba(X), X.copy()
    clf.diagnose(X, y, new=X[:5])
    np.testing.assert_array_equal(clf.predict_proba(X), before)
    pd.testing.assert_frame_equal(X, table)


def test_checks_can_be_chosen_by_code_and_section():
    clf, rows = gaussian(*normal_rows(60))
    assert [finding.code for finding in diagnose((clf, rows), ["M05", "P"]).findings] == [
        *(code for code in CHECKS if code.startswith("P")),
        "M05",
    ]
    assert diagnose((clf, rows), [])
    with pytest.raises(InputError, match="no check has the code 'Q1'"):
        clf.diagnose(checks=["Q1"])
    with pytest.raises(InputError, match=r"a list of codes, such as \['P'\]"):
        clf.diagnose(checks="P")
    with pytest.raises(InputError, match="a list of codes"):
        clf.diagnose(checks=5)


def test_rows_are_given_with_their_labels():
    clf, (X, y) = gaussian(*normal_rows(60))
    with pytest.raises(InputError, match="give both"):
        clf.diagnose(X)
    with pytest.raises(InputError, match="was not among the training labels"):
        clf.diagnose(X, np.where(y == "no", "never", y))


def test_sections_hold_every_finding_once_issues_by_severity():
    found = diagnose(repeated(200), ["P", "M", "Y"])
    sections = (found.issues, found.tips, found.passed, found.not_applicable, found.undecided)
    assert sorted(finding.code for section in sections for finding in section) == sorted(CHECKS)
    severities = [finding.severity for finding in found.issues]
    assert severities == sorted(severities, key=["severe", "moderate", "mild"].index)
    assert found["Y02"] in found.issues
    with pytest.raises(KeyError, match="Y99"):
        found["Y99"]
    table = found.table
    assert table["code"].tolist() == list(CHECKS)
    assert set(table["section"]) <= {"issue", "tip", "passed", "not applicable", "undecided"}


def example():
    findings = (
        Finding("Y03", "Over-confidence", "issue", "severe", "wide & <b>bold</b> " + "word " * 40, "act", {"gap": 0.5}),
        Finding("P01", "R-hat", "not applicable", "none", "independent draws"),
        Finding("P02", "Bulk", "not applicable", "none", "independent draws"),
        Finding("M06", "Constant", "passed", "none", "fine", "", pd.DataFrame({"<i>": ["<script>"]})),
    )
    return Diagnosis("GaussianNB", findings)


def test_text_is_wrapped_and_says_one_reason_once():
    lines = str(example()).splitlines()
    assert repr(example()) == "Diagnosis(GaussianNB: 1 issue, 1 passed, 2 not applicable)"
    assert lines[0] == "GaussianNB: 1 issue, 0 tips, 1 passed, 2 not applicable, 0 undecided"
    assert "  P01, P02: independent draws" in lines
    assert "      → act" in lines
    assert max(map(len, lines)) <= 100
    assert "Tips" not in lines
    assert "Undecided" not in lines


def test_html_is_escaped_and_whole():
    page = example()._repr_html_()
    parser = Page(page)
    assert not parser.open
    assert not {tag for tag, _ in parser.elements} & {"script", "i"}
    assert "&lt;script&gt;" in page
    assert "wide &amp; &lt;b&gt;bold&lt;/b&gt;" in page


@pytest.mark.slow
@pytest.mark.parametrize("fit", [naive, lambda X, y: logistic(X, y, inference=bc.engines.Laplace(draws=250))])
def test_fifty_thousand_rows_are_hardly_more_work_than_five(fit):
    X, y = normal_rows(50_000, 12)
    X["town"] = np.random.default_rng(1).integers(30, size=50_000).astype(str)
    work = []
    for rows in (5_000, 50_000):
        case = fit(X[:rows], y[:rows])
        work.append(calls(lambda case=case: diagnose(case, ["P", "M", "Y"])))
    assert work[1] < 2 * work[0]
