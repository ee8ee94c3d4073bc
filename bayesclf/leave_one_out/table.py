"""Fitted classifiers side by side by their leave-one-out scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.classifiers.base import BayesClassifier
from bayesclf.errors import InputError, Refused
from bayesclf.leave_one_out.elpd import loo
from bayesclf.leave_one_out.weights import stacking_weights

if TYPE_CHECKING:
    import pandas as pd


def compare_elpd(
    models: Mapping[str, BayesClassifier], X: Any, y: Any, rule: str = "bayes-optimal", method: str = "auto"
) -> pd.DataFrame:
    """Return fitted classifiers in the order of their leave-one-out scores, as `arviz.compare` does.

    Parameters
    ----------
    models
        Classifiers by name, at least two, all fitted on the same rows.
    X, y, rule, method
        As for `loo`; the rule ``"predictive"`` is ``"bayes-optimal"`` for logistic regression.

    Returns
    -------
    pandas.DataFrame
        One line a model, the best first, numbers not rounded: ``elpd`` in nats, ``se``, ``p``; ``elpd_diff`` from the
        best with its standard error ``dse``, paired by row; ``weight`` in the best mixture (`stacking_weights`);
        ``diag_elpd``, how many rows have a k̂ that is too large. `arviz.plot_compare` shows it.

    Raises
    ------
    InputError
        For fewer than two classifiers, or where `loo` does.
    Refused
        Where a model gives a row's label probability 0 without the row, or where `loo` does.

    Examples
    --------
    >>> import bayesclf as bc
    >>> days = bc.datasets.load("play_tennis")
    >>> kinds = {"naive": bc.CategoricalNB, "tree": bc.BayesNetClassifier}
    >>> fits = {name: kind(random_state=1).fit(days.X, days.y) for name, kind in kinds.items()}
    >>> bc.compare_elpd(fits, days.X, days.y, rule="predictive")[["elpd", "elpd_diff", "dse"]].round(2)
           elpd  elpd_diff   dse
    tree  -9.03       0.00  0.00
    naive -9.89      -0.87  1.26
    """
    if (
        not isinstance(models, Mapping)
        or len(models) < 2
        or not all(isinstance(m, BayesClassifier) for m in models.values())
    ):
        raise InputError("models must be a mapping from names to at least two fitted classifiers of bayesclf")
    from arviz_stats import compare

    elpds = {name: loo(clf, X, y, rule, method) for name, clf in models.items()}
    for name, elpd in elpds.items():
        impossible = np.flatnonzero(~np.isfinite(elpd.elpd_i))
        if impossible.size:
            raise Refused(
                f"{name!r} gives the label of row {impossible[0] + 1} probability 0 without that row, so that its log "
                "score is infinite; take a rule with smoothing, such as 'bayes-optimal'"
            )
    table = compare(elpds, round_to="none")
    weights = stacking_weights(np.column_stack([elpd.elpd_i for elpd in elpds.values()]))
    # ArviZ's own optimiser stops at about four digits.
    return table.assign(weight=[weights[list(models).index(name)] for name in table.index])  # type: ignore[no-any-return]
