"""All checks, in the order of their numbers. A new check is one class, and one entry here."""

from __future__ import annotations

from collections.abc import Sequence

from bayesclf.diagnostics import (
    calibration,
    chains,
    columns,
    confidence,
    disagreement,
    distance,
    identifiability,
    importance,
    missingness,
    replication,
    sampler,
    sensitivity,
)
from bayesclf.diagnostics.check import Check
from bayesclf.errors import InputError

CHECKS: dict[str, type[Check]] = {
    check.code: check
    for check in (
        chains.Rhat,
        chains.BulkSize,
        chains.TailSize,
        chains.MonteCarloError,
        sampler.Divergences,
        sampler.TreeDepth,
        sampler.Energy,
        importance.LaplaceWeights,
        importance.InfluentialRows,
        identifiability.SeparatedClasses,
        identifiability.CollinearColumns,
        sensitivity.StrongPrior,
        sensitivity.Conflict,
        columns.FewRows,
        columns.ConstantColumns,
        columns.DuplicateColumns,
        columns.Identifiers,
        calibration.Baseline,
        calibration.Calibration,
        confidence.OverConfidence,
        missingness.MissingByClass,
        disagreement.Disagreement,
        distance.FarRows,
        replication.Replication,
    )
}
"""Checks by code."""


def chosen(codes: Sequence[str] | None) -> list[type[Check]]:
    """Return the checks of some codes, or of all; the start of a code stands for all that begin with it.

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
