"""Numbered checks of a fitted classifier: its posterior (P…), its model (M…) and its predictions (Y…).

Each finding has its numbers, a reason and a next step in plain words. The thresholds are in `thresholds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from bayesclf.classifiers.base import FITTED, BayesClassifier
from bayesclf.classifiers.inputs import warn_of_order
from bayesclf.constraints import require
from bayesclf.diagnostics import calibration, columns, distance, posterior
from bayesclf.diagnostics.context import Check, Context
from bayesclf.diagnostics.diagnosis import Diagnosis, Finding
from bayesclf.errors import InputError
from bayesclf.progress import Progress, shown

__all__ = ["CHECKS", "Check", "Diagnosis", "Finding", "diagnose"]

LETTERS = "PMY"
"""First letters of the codes, in order: checks of the posterior, of the model and of predictions."""

_MODULES = (posterior, columns, calibration, distance)

CHECKS: dict[str, Check] = {
    check.code: check
    for check in sorted(
        (value for module in _MODULES for value in vars(module).values() if isinstance(value, Check)),
        key=lambda check: (LETTERS.index(check.code[0]), check.code),
    )
}
"""Checks by code."""


def diagnose(
    classifier: BayesClassifier,
    X: Any = None,
    y: Any = None,
    *,
    new: Any = None,
    checks: Sequence[str] | None = None,
    progress: Progress = None,
) -> Diagnosis:
    """Run the checks on a fitted classifier; the results depend on its seed and on no other random state.

    Predictions are judged on held-out rows. A classifier with the same settings is fitted again on parts of the rows,
    by exact inference, Laplace or a short NUTS run. Each row counts once. Of a large table only some rows are used;
    each finding says how many.

    Parameters
    ----------
    classifier : BayesClassifier
        Fitted.
    X, y
        The training rows. A fit stores only its statistics; without the rows, checks that need them are undecided.
    new : table of shape (row, feature) or None
        Rows to be predicted, to see how far they are from the training rows.
    checks : sequence of str or None
        Codes to run, such as ``["P", "M03"]``; a letter selects its section. By default all checks.
    progress : bool, callable or None
        Whether to show progress; or a function that is called with what is being done, checks done and checks in all.
        None shows it in a notebook, and where stderr is a terminal.

    Returns
    -------
    Diagnosis
        The findings.

    Raises
    ------
    InputError
        For rows or codes that cannot be used.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[1.0], [1.2], [3.1], [2.9]], ["low", "low", "high", "high"]
    >>> print(bc.GaussianNB(random_state=1).fit(X, y).diagnose(checks=["P01", "M06", "Y02"]))
    GaussianNB: 0 issues, 0 tips, 1 passed, 1 not applicable, 1 undecided
    <BLANKLINE>
    Passed
      M06 Constant columns: every column varies
    <BLANKLINE>
    Not applicable
      P01: independent draws from the closed-form posterior
    <BLANKLINE>
    Undecided
      Y02: give the training rows, clf.diagnose(X, y) (--table TABLE)
    """
    require(FITTED, classifier=classifier)
    check_is_fitted(classifier, "classes_")
    run = _chosen(checks)
    warn_of_order(X, y=y)
    context = Context.of(classifier, X, y, new)
    findings = []
    with shown("checks", len(run), progress) as tell:
        for check in run:
            findings.append(check(context))
            tell(check.title, len(findings), len(run))
    return Diagnosis(type(classifier).__name__, tuple(findings), context.held_out_if_made)


def _chosen(codes: Sequence[str] | None) -> list[Check]:
    """Return the checks whose codes begin with one of some codes, or all checks."""
    if codes is None:
        return list(CHECKS.values())
    if isinstance(codes, str) or not isinstance(codes, Sequence) or not all(isinstance(code, str) for code in codes):
        example = [codes if isinstance(codes, str) else "P"]
        raise InputError(f"checks must be a list of codes, such as {example}")
    for code in codes:
        if not code or not any(known.startswith(code) for known in CHECKS):
            raise InputError(f"no check has the code {code!r}; the codes are {', '.join(CHECKS)}")
    return [check for known, check in CHECKS.items() if known.startswith(tuple(codes))]


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
