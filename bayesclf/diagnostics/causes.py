"""Why predictions are over- or under-confident: few rows, the prior, or what the model assumes, each tested by refits.

A cause is named only if removing it removes the gap between confidence and accuracy, and each of the others is ruled
out: what removing it removes is less than half of the gap, beyond its error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from sklearn.base import clone

from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.logistic import LEARNED, LogisticRegression
from bayesclf.classifiers.naive_bayes import CategoricalNB
from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.context import Context
from bayesclf.diagnostics.held_out import HeldOut, Labelled, NotApplicable, Skipped, Split, held_out
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.evaluation.judgments import Step, confidence_gap
from bayesclf.evaluation.predictive_checks import p_value_table, predictive_check
from bayesclf.evaluation.scores import RowScores
from bayesclf.families.hierarchical import LearntAlpha
from bayesclf.interpretation.dependence import dependent_pairs
from bayesclf.models.generative import independent_groups
from bayesclf.tables.columns import SparseTable

STREAM = 7
"""Number of the random stream, next to those of the classifier and of other checks."""

AVERAGING = ("bayes-optimal", "predictive", "tempered")
"""Rules that average over a posterior."""


@dataclass(frozen=True)
class Cause:
    """A possible cause of a gap, and how much of the gap goes away without it.

    Attributes
    ----------
    name
        Such as "few rows".
    test
        What was changed, such as "twice the rows".
    remedy
        What to do if it is the cause.
    removed
        What the change removes; None where it was not tested, or excluded without a refit.
    why
        Why it was not tested, or why it is excluded.
    excluded
        Whether it cannot be the cause.
    """

    name: str
    test: str
    remedy: str
    removed: Step | None = None
    why: str = ""
    excluded: bool = False

    @property
    def explains(self) -> bool:
        """Whether the change removes some of the gap, beyond its error."""
        return self.removed is not None and self.removed.matters and not self.excluded

    @property
    def useless(self) -> bool:
        """Whether its remedy cannot help: the cause is excluded, or the gap is larger without it, beyond its error."""
        return self.excluded or (self.removed is not None and self.removed.below(0))

    def ruled_out(self, gap: Step) -> bool:
        """Return whether the change removes less than half of a gap, beyond its error."""
        return self.excluded or (self.removed is not None and self.removed.below(abs(gap.mean) / 2))

    def __str__(self) -> str:
        return f"{self.name} ({self.why or f'{self.test} removes {self.removed}'})"


@dataclass(frozen=True)
class Explanation:
    """The possible causes of a gap, and the one that remains.

    Attributes
    ----------
    gap
        Positive where predictions are over-confident.
    causes
        Each with its test.
    """

    gap: Step
    causes: tuple[Cause, ...]

    @property
    def cause(self) -> Cause | None:
        """The cause, or None where it is not identified."""
        explaining = [cause for cause in self.causes if cause.explains]
        others = [cause for cause in self.causes if not cause.explains]
        alone = len(explaining) == 1 and all(cause.ruled_out(self.gap) for cause in others)
        return explaining[0] if alone else None

    def __str__(self) -> str:
        if self.cause is not None:
            others = [str(cause) for cause in self.causes if cause is not self.cause]
            return f"the cause is {self.cause}; ruled out: {'; '.join(others)}"
        return f"the cause is not identified; candidates: {'; '.join(map(str, self._candidates))}"

    @property
    def _candidates(self) -> list[Cause]:
        """The causes, those whose removal removes most first, and those that were not tested last.

        None is ruled out: with a true model and few rows, twice the rows may remove less than half of the gap.
        """
        return sorted(self.causes, key=lambda cause: np.inf if cause.removed is None else -cause.removed.mean)

    @property
    def next_step(self) -> str:
        """What to do about the cause, or about those that may be."""
        if self.cause is not None:
            return self.cause.remedy
        possible = [cause.remedy for cause in self._candidates if not cause.useless]
        return f"try, and compare: {'; '.join(possible)}" if possible else "compare with another model (against=…)"

    @property
    def table(self) -> pd.DataFrame:
        """One row per tested cause: what was changed, and what that removes with its standard error."""
        tested = [(cause.test, cause.removed) for cause in self.causes if cause.removed is not None]
        lines = [(test, removed.mean, removed.error) for test, removed in tested]
        return pd.DataFrame(lines, columns=["rule", "removed", "removed_error"])


def gap_of(found: RowScores, y: Integers) -> Array:
    """Return the probability of the predicted class minus 1 where it is right, (row)."""
    return confidence_gap(found.log_proba, y)


def explain(context: Context, rule: str) -> Explanation:
    """Test the possible causes of the gap between confidence and accuracy under a rule.

    ============ ================================================================================================
    few rows     fits on half of the rows: what these have more of, the rows that were added have removed
    the prior    a learned prior where there is one; else maximum likelihood, which has no prior: where that differs
                 by less than half of the gap, the prior is not its cause
    independence fits on rows whose columns are permuted within the classes, which makes them independent and leaves
                 everything else as it was
    shape        logistic regression, which assumes none, where replicated data have other shapes of columns
    ============ ================================================================================================

    Parameters
    ----------
    context
        Of the check.
    rule
        Of the predictions, one that averages over the posterior where there is one.
    """
    answers = context.held_out
    gap = gap_of(answers.of(rule), answers.y)
    causes: list[Cause] = []
    generative = context.classifier.model_.generative
    assumed = {INDEPENDENCE: _independence, SHAPE: _shape} if generative else {FORM: _form}
    for cause, test in {ROWS: _rows, PRIOR: _prior, **assumed}.items():
        try:
            causes.append(test(context, rule, gap))
        except (Skipped, NotApplicable, Refused, DoesNotExist, InputError) as reason:
            causes.append(replace(cause, why=f"not tested: {reason}"))
    return Explanation(Step.of(gap), tuple(causes))


ROWS = Cause("few rows", "going from half of the rows to all", "gather more rows")
PRIOR = Cause("the prior", "a learned prior", "take a prior that fits the problem")
INDEPENDENCE = Cause(
    "what the model assumes about its columns, independence within the classes",
    "permuting columns within the classes",
    "join dependent columns in a block, or take GaussianDiscriminantAnalysis, BayesNetClassifier or LogisticRegression",
)
SHAPE = Cause(
    "what the model assumes about its columns, their shape within the classes",
    "logistic regression",
    "transform the columns, take other families for them (Y07 names them), or LogisticRegression",
)
FORM = Cause(
    "what the model assumes, log-odds that are sums over the columns",
    "the other model",
    "take the other model, or add products of columns",
)


def _rows(context: Context, rule: str, gap: Array) -> Cause:
    """Compare with fits on both halves of the training rows of each fold."""
    rng = np.random.default_rng([context.seed, STREAM])
    halves = [_halved(context.training.y, split, rng) for split in context.splits]
    sign = np.sign(gap.mean())
    more = [_gap(_refits(context, context.training, [half[side] for half in halves]), rule) for side in (0, 1)]
    return replace(ROWS, removed=Step.of(sign * (np.mean(more, axis=0) - gap)))


def _halved(y: Integers, split: Split, rng: np.random.Generator) -> tuple[Split, Split]:
    """Return two splits with half of the training rows each, stratified by label."""
    train, test = split
    order = rng.permutation(train)
    order = order[np.argsort(y[order], kind="stable")]
    return (np.sort(order[::2]), test), (np.sort(order[1::2]), test)


def _prior(context: Context, rule: str, gap: Array) -> Cause:
    """Compare with a prior that is learned, or with maximum likelihood."""
    toward = np.sign(gap.mean())
    learned = _with_learned_prior(context.classifier)
    if learned is not None:
        # It is not fitted, so that its own rule would be that of a posterior, whatever the rule asked about.
        other = held_out(learned, context.training, context.splits, context.seed, compared=(rule,))
        setting = "prior_scale" if isinstance(learned, LogisticRegression) else "alpha"
        remedy = f"{PRIOR.remedy}, such as {setting}='learned'"
        return replace(PRIOR, remedy=remedy, removed=Step.of(toward * (gap - _gap(other, rule))))
    answers = context.held_out
    fits = held_out(context.classifier, context.training, context.splits, context.seed, compared=("mle",))
    step = Step.of(toward * (gap - gap_of(fits.of("mle"), answers.y)))
    cause = replace(PRIOR, removed=step, test="maximum likelihood, without a prior,")
    unchanged = all(Step(sign * step.mean, step.error).below(abs(gap.mean()) / 2) for sign in (1, -1))
    if cause.explains or unchanged:  # another prior might remove what maximum likelihood has more
        return cause
    raise Skipped("this model has no learned prior, and maximum likelihood differs too much to rule the prior out")


def _with_learned_prior(classifier: BayesClassifier) -> BayesClassifier | None:
    """Return the classifier with a prior that is learned from the rows; None where there is none."""
    parameters = classifier.get_params(deep=False)
    learned: dict[str, object] = {}
    if isinstance(classifier, LogisticRegression):
        scale = parameters["prior_scale"]
        learned = {"prior_scale": LEARNED} if np.isscalar(scale) and not isinstance(scale, str) else {}
    elif isinstance(classifier, CategoricalNB) and np.isscalar(parameters["alpha"]):
        learned = {"alpha": LearntAlpha()}
    if not learned:
        return None
    found: BayesClassifier = clone(classifier).set_params(**learned)
    return found


def _independence(context: Context, rule: str, gap: Array) -> Cause:
    """Compare with rows whose columns are permuted within the classes: exchangeable with the rows if it holds."""
    model = context.classifier.model_
    groups = independent_groups(model)
    if len(set(groups.values())) < 2:
        return replace(INDEPENDENCE, why="the model treats no columns as independent", excluded=True)
    rng = np.random.default_rng([context.seed, STREAM, 1])
    permuted = []
    for _ in range(thresholds.PERMUTED_TABLES):
        training = _permuted(context.training, context.classifier, groups, rng)
        permuted.append(_gap(_refits(context, training, context.splits), rule))
    sign, other, own = np.sign(gap.mean()), Step.of(np.mean(permuted, axis=0)), Step.of(gap)
    removed = Step(float(sign * (own.mean - other.mean)), float(np.hypot(own.error, other.error)))
    cause = replace(INDEPENDENCE, removed=removed)
    return replace(cause, remedy=f"{cause.remedy}{_pairs(context)}") if cause.explains else cause


def _pairs(context: Context) -> str:
    """Return which columns the model wrongly takes for independent, as a clause; empty where none stands out."""
    try:
        said = dependent_pairs(context.classifier, context.X, context.y).sentence
    except Refused:
        return ""
    return f" ({said})" if said else ""


def _permuted(
    training: Labelled, classifier: BayesClassifier, groups: dict[str, int], rng: np.random.Generator
) -> Labelled:
    """Return the rows with each group of columns permuted within the classes."""
    if isinstance(training.table, SparseTable):
        raise Skipped("the table is sparse")
    if classifier.columns_[0].kind == "text":
        raise Skipped("the table is one column of text")
    table = training.table.reset_index(drop=True)
    order = np.argsort(training.y, kind="stable")
    for group in sorted(set(groups.values())):
        names = [name for name in table if groups.get(str(name)) == group]
        drawn = order.copy()
        for label in np.unique(training.y):
            own = np.flatnonzero(training.y[order] == label)
            drawn[own] = rng.permutation(order[own])
        for name in names:
            column = table[name]
            cells = column.iloc[drawn]
            cells.index = pd.Index(order)
            table = table.assign(**{str(name): cells.sort_index()})
    return Labelled(table, classifier.encode(table), training.y, training.classes)


def _form(context: Context, rule: str, gap: Array) -> Cause:
    """Compare logistic regression with the model that was given."""
    sign, other = np.sign(gap.mean()), context.reference
    best = next(name for name in (*AVERAGING, "map") if name in other.answered)
    return replace(FORM, removed=Step.of(sign * (gap - gap_of(other.answered[best], other.y))))


def _shape(context: Context, rule: str, gap: Array) -> Cause:
    """Compare with logistic regression if replicated data have other shapes of columns."""
    classifier, training = context.classifier, context.training
    if not any(block.family.kind in ("number", "count") for block in classifier.model_.blocks):
        return replace(SHAPE, why="categories have no shape", excluded=True)
    tree = predictive_check(classifier, context.X, context.y, thresholds.PREDICTIVE_DRAWS, prior=False)
    table = p_value_table(tree)
    off = table[(table["adjusted_p_value"] < thresholds.SIGNIFICANCE) & ~table["statistic"].str.startswith("class")]
    if off.empty and len(training) < thresholds.MIN_SHAPE_ROWS:
        raise Skipped(f"{len(training)} rows are too few to see shapes")
    if off.empty:
        return replace(SHAPE, why="replicated data have the same shapes", excluded=True)
    other = context.against if context.against is not None else LogisticRegression(prior_scale=LEARNED)
    found = held_out(other, training, context.splits, context.seed, by_chains=False)
    best = next(name for name in (*AVERAGING, "map") if name in found.answered)
    return replace(SHAPE, removed=Step.of(np.sign(gap.mean()) * (gap - gap_of(found.answered[best], found.y))))


def _refits(context: Context, training: Labelled, parts: list[Split]) -> HeldOut:
    """Return the answers of the classifier's settings to other rows; only logistic regression may take chains."""
    by_chains = not context.classifier.model_.generative
    return held_out(context.classifier, training, parts, context.seed, by_chains=by_chains, compared=AVERAGING)


def _gap(answers: HeldOut, rule: str) -> Array:
    return gap_of(answers.of(rule), answers.y)
