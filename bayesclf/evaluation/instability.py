"""How far probabilities would move under other samples of the same size: by the posterior, and by refits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bayesclf.attached import InstabilityMethods, with_methods
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.labels import checked_labels
from bayesclf.classifiers.predictor import CI_PROB
from bayesclf.classifiers.training import seed_of
from bayesclf.constraints import Whole, require
from bayesclf.display import MOST_LINES, Display, Displayed
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.evaluation import cross_validation
from bayesclf.evaluation.inputs import as_table
from bayesclf.evaluation.net_benefit import code_of
from bayesclf.progress import Progress, shown
from bayesclf.typing import Array
from bayesclf.wording import first_upper

REFITS = 50
"""Default number of resampled tables."""

STREAM = 8
"""Number of the random stream that resamples the rows."""


@with_methods
@dataclass(frozen=True, eq=False, repr=False)
class Instability(Displayed, InstabilityMethods):
    """How far the probabilities of rows move under other samples of the same size.

    Attributes
    ----------
    table
        One row per row of the table: `row` (from 1), `label`, whose probability it is; `probability` of the fit to all
        rows; its posterior interval (`posterior_low`, `posterior_high`), NaN without a posterior; the interval over
        refits (`refit_low`, `refit_high`); `change`, the mean absolute difference of the refits' probabilities from it;
        and `decided_otherwise`, the share of refits with another most probable class.
    refits
        Number of refits.
    """

    table: pd.DataFrame
    refits: int

    @property
    def change(self) -> float:
        """Mean absolute change of a probability, over rows and refits."""
        return float(self.table["change"].mean())

    @property
    def decided_otherwise(self) -> float:
        """Share of rows and refits that are decided differently."""
        return float(self.table["decided_otherwise"].mean())

    def _display(self) -> Display:
        names = ["row", "label", "probability", "refit_low", "refit_high", "decided_otherwise"]
        most = self.table.nlargest(MOST_LINES, "change")
        lines = [
            (row, label, *(f"{value:.3f}" for value in rest))
            for row, label, *rest in most[names].itertuples(index=False)
        ]
        header = tuple(name.replace("_", " ") for name in names)
        headline = f"Instability of {len(self.table):,} rows, those first that change most"
        left_out = len(self.table) - len(lines)
        return Display(headline, header, lines, left_out=left_out, sentences=(f"{first_upper(self.sentence)}.",))

    @property
    def sentence(self) -> str:
        """What moves how far, in words."""
        low, high = (self.table[f"refit_{end}"] for end in ("low", "high"))
        says = (
            f"in {self.refits} samples of as many rows, drawn from the table, probabilities move by {self.change:.3f} "
            f"on average, and {100 * self.decided_otherwise:.1f} % of the rows are decided differently; the "
            f"{100 * CI_PROB:.0f} % intervals are {(high - low).mean():.3f} wide on average"
        )
        posterior = (self.table["posterior_high"] - self.table["posterior_low"]).mean()
        return says if np.isnan(posterior) else f"{says}, those of the posterior {posterior:.3f}"


def instability(
    classifier: BayesClassifier,
    X: Any,
    y: Any,
    rule: str | None = None,
    outcome: Any = None,
    refits: int = REFITS,
    random_state: Any = 0,
    progress: Progress = None,
) -> Instability:
    """Fit a classifier to tables of as many rows, drawn from the rows with replacement, and compare its answers.

    The posterior says how uncertain a probability is if the model is true, the refits how it varies with the sample,
    whether it is true or not. Where the model is true and its prior weak the two agree; where refits move further, the
    posterior understates how much the answer depends on the sample. Under ``"map"`` and ``"mean"`` too the posterior
    interval is that of the draws.

    Parameters
    ----------
    classifier : BayesClassifier
        Fitted or not; its settings are used.
    X, y
        Table (row, feature) and labels (row).
    rule : str or None
        Of the probabilities; by default the classifier's own.
    outcome : label or None
        Label whose probability is looked at; by default the class that the fit to all rows predicts for the row.
    refits : int
        Number of refits, at least 2.
    random_state : int, Generator or None
        Seed of everything.
    progress : bool, callable or None
        As in `bayesclf.compare`.

    Returns
    -------
    Instability
        The probability of each row under all rows, and its intervals over the refits and over the posterior.

    Raises
    ------
    InputError
        For a classifier, a table or options that cannot be used.

    References
    ----------
    Riley & Collins, *Stability of clinical prediction models developed using statistical or machine learning methods*,
    Biometrical Journal 65 (2023).

    Examples
    --------
    >>> import bayesclf as bc
    >>> iris = bc.datasets.load("iris")
    >>> found = bc.instability(bc.GaussianNB(), iris.X, iris.y, refits=20)
    >>> found.change < 0.05
    True
    """
    if not isinstance(classifier, BayesClassifier):
        raise InputError(f"instability is that of a bayesclf classifier, such as GaussianNB(), not of {classifier!r}")
    require(Whole(2), refits=refits)
    seed = seed_of(random_state)
    frame = as_table(X)
    labels = checked_labels(y, len(frame))
    classes = np.unique(labels)
    code = None if outcome is None else code_of(classes, outcome)
    rng = np.random.default_rng([seed, STREAM])
    moved = []
    with shown("refits", refits + 1, progress) as tell:
        whole, _ = cross_validation.fit(classifier, frame, labels, classes, seed)
        proba = whole.predict_proba(frame, rule)
        tell("refits", 1, refits + 1)
        for number in range(refits):
            drawn = rng.integers(len(frame), size=len(frame))
            fit, _ = cross_validation.fit(classifier, frame.iloc[drawn], labels[drawn], classes, seed + 1 + number)
            moved.append(fit.predict_proba(frame, rule))
            tell("refits", number + 2, refits + 1)
    best = proba.argmax(axis=1)
    own = best if code is None else np.full(len(frame), code)
    rows = np.arange(len(frame))
    refitted = np.array([answer[rows, own] for answer in moved])
    low, high = np.quantile(refitted, [(1 - CI_PROB) / 2, (1 + CI_PROB) / 2], axis=0)
    bounds = _posterior(whole, frame, rule)[rows, own]
    table = {
        "row": 1 + rows,
        "label": classes[own],
        "probability": proba[rows, own],
        "posterior_low": bounds[:, 0],
        "posterior_high": bounds[:, 1],
        "refit_low": low,
        "refit_high": high,
        "change": np.abs(refitted - proba[rows, own]).mean(axis=0),
        "decided_otherwise": np.mean([answer.argmax(axis=1) != best for answer in moved], axis=0),
    }
    return Instability(pd.DataFrame(table), refits)


def _posterior(fit: BayesClassifier, frame: pd.DataFrame, rule: str | None) -> Array:
    """Return the posterior intervals, (row, outcome, bound); NaN for a point estimate."""
    asked = fit.requested_rule(rule)
    try:
        return fit.predict_interval(frame, CI_PROB, "predictive" if asked == "predictive" else "bayes-optimal")
    except (DoesNotExist, Refused):
        return np.full((len(frame), len(fit.classes_), 2), np.nan)
