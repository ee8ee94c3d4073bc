"""All checks, in the order of their numbers: those of the modules listed here."""

from __future__ import annotations

from collections.abc import Sequence

from bayesclf.diagnostics import (
    calibration,
    chains,
    columns,
    confidence,
    distance,
    identifiability,
    importance,
    replication,
    sensitivity,
)
from bayesclf.diagnostics.check import Check
from bayesclf.errors import InputError

LETTERS = "PMY"
"""First letters of the codes, in order: checks of the posterior, of the model and of predictions."""

_MODULES = (chains, importance, identifiability, sensitivity, columns, calibration, confidence, distance, replication)

CHECKS: dict[str, Check] = {
    check.code: check
    for check in sorted(
        (value for module in _MODULES for value in vars(module).values() if isinstance(value, Check)),
        key=lambda check: (LETTERS.index(check.code[0]), check.code),
    )
}
"""Checks by code."""


def chosen(codes: Sequence[str] | None) -> list[Check]:
    """Return the checks with some codes, or all of them; the beginning of a code stands for all that begin with it.

    Raises
    ------
    InputError
        For a code that no check has.
    """
    if codes is None:
        return list(CHECKS.values())
    if isinstance(codes, str) or not isinstance(codes, Sequence) or not all(isinstance(code, str) for code in codes):
        example = [codes if isinstance(codes, str) else "P"]
        raise InputError(f"checks must be a list of codes, such as {example}")
    for code in codes:
        if not code or not any(known.startswith(code) for known in CHECKS):
            raise InputError(f"no check has the code {code!r}; the codes are {', '.join(CHECKS)}")
    return [check for known, check in CHECKS.items() if known.startswith(tuple(codes))]
