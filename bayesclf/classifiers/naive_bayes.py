"""Naive Bayes: the features are independent of each other given the class; counts may be sparse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from bayesclf.arrays import Array
from bayesclf.classifiers.base import classifier
from bayesclf.classifiers.generative import GenerativeClassifier
from bayesclf.classifiers.training import LEARNED, LEAST_LEVELS, ColumnBlock, Concentration, Learnt, concentration
from bayesclf.constraints import Choice, Instance, Number, OrNone, require
from bayesclf.errors import InputError
from bayesclf.families import (
    FAMILIES,
    Bernoulli,
    Categorical,
    EveryTreeOfCells,
    Gaussian,
    LearntAlpha,
    Multinomial,
)
from bayesclf.families.base import Family, Statistics
from bayesclf.families.by_evidence import CANDIDATES, ByEvidence, Choices
from bayesclf.families.learned_alpha import TEXTBOOK
from bayesclf.models.generative import GenerativeModel
from bayesclf.tables import columns
from bayesclf.tables.columns import SparseTable, Table
from bayesclf.wording import AND_MORE, LISTED_NAMES, listed

if TYPE_CHECKING:
    import pandas as pd


@classifier
class GaussianNB(GenerativeClassifier):
    """Naive Bayes with every column Gaussian: x_i | y = k ~ Normal(μ_ik, σ²), normal-inverse-gamma prior.

    For a prior that is not conjugate, such as a half-normal σ, change `to_pymc(X, y)` and take the posterior back by
    `with_posterior`.

    Parameters
    ----------
    variance : {"class-feature", "feature", "class", "shared"}
        ``"class-feature"`` σ_ik; ``"feature"`` σ_i, whose P(y | x) is logistic in x; ``"class"`` σ_k; ``"shared"`` σ.
    m : float, array or None
        Prior mean of the means, as in `bayesclf.families.Gaussian`; where None, as for the other hyperparameters, unit
        information from the pooled rows.
    kappa : float, array or None
        Rows that the prior mean is worth.
    a : float, array or None
        Shape of the inverse gamma prior of the variances.
    b : float, array or None
        Scale of the inverse gamma prior of the variances.
    unbiased : bool
        Whether the MLE of a variance is the unbiased one (Mitchell eq 15).

    Attributes
    ----------
    theta_ : ndarray of shape (outcome, feature)
        Mean of each column in each class: the posterior mean, or the requested point. NaN where a column is not used.
    var_ : ndarray of shape (outcome, feature)
        Its variance, likewise.
    coef_ : ndarray of shape (1, feature) or (outcome, feature)
        Weights of the log-odds of a linear model, ``variance="feature"`` or ``"shared"``: of the second of two
        classes, or of each of more, adding up to 0. The average of `to_logistic` over the posterior, or that of the
        requested point.
    intercept_ : ndarray of shape (1,) or (outcome,)
        The log-odds at x = 0, likewise.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[1.0], [1.2], [3.1], [2.9]], [0, 0, 1, 1]
    >>> print(bc.GaussianNB(random_state=1).fit(X, y).predict([[1.1], [3.0]]))
    [0 1]

    References
    ----------
    Mitchell, eqs 12 to 15; Wehbe (variance structures).
    """

    variance: str = "class-feature"
    _: KW_ONLY
    m: float | Array | None = None
    kappa: float | Array | None = None
    a: float | Array | None = None
    b: float | Array | None = None
    unbiased: bool = False
    _takes_words = False

    def _blocks(self, frame: pd.DataFrame) -> tuple[ColumnBlock, ...]:
        """Return one block of all columns, which must hold numbers."""
        family = Gaussian(self.variance, self.m, self.kappa, self.a, self.b, self.unbiased)
        return (ColumnBlock(family, tuple(map(str, frame.columns))),)


@classifier
class CategoricalNB(GenerativeClassifier):
    """Naive Bayes with every column categorical: P(x_j = l | y = k) = θ_jkl, θ_jk ~ Dirichlet(α).

    Parameters
    ----------
    alpha : float, array, "learned" or LearntAlpha
        Concentration, above 0: a number, or an array that broadcasts to (outcome, level), the levels of all columns
        side by side. MAP adds α − 1 to every count: 2 is Laplace's rule; 1 makes MAP equal MLE, zeros included.
        ``"learned"``: 2 for columns of fewer than ten levels; for the others the one α that best predicts the label of
        each training row from all other rows, ``bayesclf.families.LearntAlpha(least_levels=10)``;
        there MAP adds α. `partial_fit` keeps the α of an earlier `fit`, or 1.
    basis : {"simplex", "softmax"}
        ``"simplex"``: MAP is the mode in θ itself; ``"softmax"``: the mode in log-odds, (n + α)/(N + Σα), as always
        where α is learned.

    Attributes
    ----------
    category_count_ : list of ndarray of shape (outcome, level)
        Weight of each level in each class, one array for each column.
    feature_log_prob_ : list of ndarray of shape (outcome, level)
        log θ, of the posterior mean or the requested point.

    Examples
    --------
    >>> import bayesclf as bc
    >>> clf = bc.CategoricalNB(random_state=1).fit([["sunny"], ["rain"], ["rain"]], ["no", "yes", "yes"])
    >>> clf.predict_proba([["sunny"]], rule="map").round(3)
    array([[0.571, 0.429]])

    References
    ----------
    Mitchell, eqs 6 to 9; Mitchell 1997 §6.9; CS4780.
    """

    alpha: Concentration = LEARNED
    _: KW_ONLY
    basis: str = "simplex"

    def _blocks(self, frame: pd.DataFrame) -> tuple[ColumnBlock, ...]:
        """Return one block of all columns."""
        alpha = concentration(self.alpha, LEAST_LEVELS)
        return (ColumnBlock(Categorical(alpha, self.basis), tuple(map(str, frame.columns))),)


class CountsNB(GenerativeClassifier):
    """Naive Bayes of a table of counts or events, which may be sparse and is never made dense.

    Attributes
    ----------
    feature_count_ : ndarray of shape (outcome, feature)
        Weight of the occurrences of each feature in each class.
    feature_log_prob_ : ndarray of shape (outcome, feature)
        log θ, of the posterior mean or the requested point.
    coef_ : ndarray of shape (1, feature) or (outcome, feature)
        Weights of the log-odds of a linear model: of the second of two classes, or of each of more, adding up to
        0. The average of `to_logistic` over the posterior, or that of the requested point.
    intercept_ : ndarray of shape (1,) or (outcome,)
        The log-odds at x = 0, likewise.
    """

    _of_counts = True
    _takes_words = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.missing != "level"  # a sparse table has no missing cells
        tags.classifier_tags.poor_score = True  # on the normal clusters of scikit-learn's checks, which are no counts
        return tags


@classifier
class BernoulliNB(CountsNB):
    """Naive Bayes with every feature present or absent: P(x_i = 1 | y = k) = θ_ik, θ_ik ~ Beta(α, β).

    Absent features count too. A missing cell (NaN, dense tables only) is integrated out.

    Parameters
    ----------
    alpha : float, array, "learned" or LearntAlpha
        First shape of the prior, above 0: a number, or an array that broadcasts to (outcome, feature). MAP adds α − 1
        presences and β − 1 absences: α = β = 2 is Laplace's rule, `sklearn.naive_bayes.BernoulliNB(alpha=1)`.
        ``"learned"``: the number α = β that best predicts the label of each training row from all other rows,
        ``bayesclf.families.LearntAlpha()``; MAP then adds α. `partial_fit` keeps the α of an earlier `fit`, or 1.
    beta : float, array or None
        Second shape of the prior, likewise; None for 2, or for α where that is learned.
    binarize : float or None
        Cells above it are present; None demands a table of 0 and 1 only.

    Examples
    --------
    >>> import bayesclf as bc
    >>> clf = bc.BernoulliNB(random_state=1).fit([[1, 0], [1, 1], [0, 1]], ["spam", "spam", "ham"])
    >>> clf.predict_proba([[1, 0]], rule="map").round(3)
    array([[0.045, 0.955]])

    References
    ----------
    Abu-El-Haija 3.2.2.
    """

    alpha: Concentration = LEARNED
    beta: float | Array | None = None
    _: KW_ONLY
    binarize: float | None = 0.0

    def _blocks(self, frame: Any) -> tuple[ColumnBlock, ...]:
        """Return one block of all columns."""
        alpha, beta = concentration(self.alpha), TEXTBOOK if self.beta is None else self.beta
        family = Bernoulli(alpha, beta, 0.0 if self.binarize is None else self.binarize)
        return (ColumnBlock(family, tuple(map(str, frame.columns))),)

    def _check_options(self) -> None:
        super()._check_options()
        require(OrNone(Number()), binarize=self.binarize)
        if self.beta is not None and isinstance(self.alpha, str | LearntAlpha):
            raise InputError(f"beta={self.beta!r} has no effect where alpha is learned; leave it out, or give both")

    def _validated(self, X: Any, reset: bool) -> Any:
        if sparse.issparse(X) and str(self.missing) == "level":
            raise InputError("missing='level' needs a dense table: a sparse one has no missing cells")
        table = super()._validated(X, reset)
        if self.binarize is None:
            _require_events(table)
        return table


def _require_events(table: Table) -> None:
    """Raise for a cell that is neither 0 nor 1 nor missing."""
    if isinstance(table, SparseTable):
        cells = table.cells.data
    else:
        cells = columns.numbers(table, tuple(map(str, table.columns)))
    wrong = cells[~(np.isnan(cells) | (cells == 0) | (cells == 1))]
    if wrong.size:
        raise InputError(f"binarize=None takes 0 and 1 only, but the table holds {wrong[0]:g}; give binarize a number")


@classifier
class MultinomialNB(CountsNB):
    """Naive Bayes on counts of words: the words of a document are drawn from θ_k ~ Dirichlet(α), one by one.

    The predictive of a document is Pólya's in closed form, which is not the density at the posterior mean.

    Parameters
    ----------
    alpha : float, array, "learned" or LearntAlpha
        Concentration, above 0: a number, or an array that broadcasts to (outcome, word). MAP adds l = α − 1 to every
        count: 2 is Laplace's rule, `sklearn.naive_bayes.MultinomialNB(alpha=1)`, and with ``class_prior="empirical"``
        Naive_Bayes_text of Mitchell 1997 Table 6.2. ``"learned"``: the number that best predicts the label of each
        training row from all other rows, ``bayesclf.families.LearntAlpha()``; MAP then adds α.
        `partial_fit` keeps the α of an earlier `fit`, or 1.
    missing : {"ignore", "level"}
        Without effect: a missing count is always refused.

    Examples
    --------
    >>> import bayesclf as bc
    >>> clf = bc.MultinomialNB(random_state=1).fit([[2, 0], [1, 1], [0, 3]], ["a", "a", "b"])
    >>> clf.predict_proba([[1, 0]], rule="map").round(3)
    array([[0.918, 0.082]])

    References
    ----------
    Abu-El-Haija 3.2.1, 3.4; Aberdeen; CS4780; Mitchell 1997 Table 6.2.
    """

    alpha: Concentration = LEARNED
    _draws_lengths = True

    def _blocks(self, frame: Any) -> tuple[ColumnBlock, ...]:
        """Return one block of all columns, which must hold counts."""
        return (ColumnBlock(Multinomial(concentration(self.alpha)), tuple(map(str, frame.columns))),)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = False
        return tags


BLOCKS, TEMPER = OrNone(Instance(Mapping)), Choice(("all", "column"))


@classifier
class NaiveBayes(GenerativeClassifier):
    """P(x, y) = π_y Π_j P(x_j | y), a family for each column by its dtype, or as given.

    Numbers are of the family that their evidence prefers, such as Gaussian, log-normal or Poisson; words, booleans and
    pandas categoricals are categorical.

    Parameters
    ----------
    families : str or sequence of str
        Family of the numbers that `blocks` does not name: ``"auto"``, for each column the one of largest evidence;
        names of candidates to choose from, the keys of `bayesclf.families.by_evidence.CANDIDATES`; or the name of one
        family for all, such as ``"gaussian"``, any of numbers in `bayesclf.families.FAMILIES`.
        Evidence is that of cells as wide as the last recorded decimal, so that densities and masses compare, and joint
        over the classes; all candidates are equally probable a priori. What was chosen is in `families_`, in the notes
        of the fit, and in its report. Of other rows, a cell that the chosen family cannot have counts as missing.
    blocks : dict or None
        Families for some of the columns: a mapping from a column name, or a tuple of names, to a family or its name,
        as in ``{("age", "bmi"): bc.families.Gaussian("feature")}``. Columns that are not named get theirs by dtype.
        ``"conditional-gaussian"`` takes categories and numbers: a table of the categories, and the numbers linear in
        each other for each of its configurations.
    alpha : float, "learned" or LearntAlpha
        Concentration of the categorical columns that `blocks` does not name, as in `CategoricalNB`, and of families
        of counts given by name.
    temper : {"all", "column"}
        Of the rule ``"tempered"``: whether the log-likelihood of all columns has one weight T, or each column its own,
        T_j around T, as in `bayesclf.models.tempered`. The latter suits columns of which some repeat each other.

    Attributes
    ----------
    choices_ : tuple of Choices
        Log evidences of the families of all columns whose families are chosen,
        `bayesclf.families.by_evidence.Choices`; empty where none is.
    families_ : DataFrame of shape (feature, family)
        Posterior probabilities of the families of each column, with families to choose from.

    Examples
    --------
    >>> import pandas as pd, bayesclf as bc
    >>> table = pd.DataFrame({"wind": ["weak", "strong", "weak", "strong"], "degrees": [29.0, 17.0, 25.0, 15.0]})
    >>> clf = bc.NaiveBayes(random_state=1).fit(table, ["yes", "no", "yes", "no"])
    >>> print(clf.predict(table[:1], rule="map"))
    ['yes']

    References
    ----------
    Mitchell §2; Wehbe (mixed discrete and real attributes).
    """

    blocks: dict[Any, Any] | None = None
    _practical = True
    _: KW_ONLY
    families: str | tuple[str, ...] = "auto"
    alpha: float | str | LearntAlpha = LEARNED
    temper: str = "all"
    _undecided: Learnt | None = field(init=False)  # as `_gathered`, where families were chosen
    choices_: tuple[Choices, ...] = field(init=False)

    @property
    def families_(self) -> pd.DataFrame:
        """P(family | the rows of a column) of each column whose families were chosen, (feature, family).

        It compares evidences, so that it depends on the priors: the default ones are set from the pooled rows.
        """
        import pandas as pd

        check_is_fitted(self, "classes_")
        if not self.choices_:
            raise AttributeError(
                "families_ exists only after a fit that chose families, as with families='auto', and that does not "
                "continue from as_prior"
            )
        (choices,) = self.choices_
        return pd.DataFrame(choices.probabilities, index=list(choices.features), columns=list(choices.families))

    @property
    def _named_blocks(self) -> int:
        return len(self.blocks or {})

    def _check_options(self) -> None:
        super()._check_options()
        require(BLOCKS, blocks=self.blocks)
        require(TEMPER, temper=self.temper)
        self._family_of_numbers()
        if not isinstance(self.alpha, str | LearntAlpha):
            require(Number(above=0), alpha=self.alpha)

    def _family_of_numbers(self) -> Family[Any] | ByEvidence:
        """Return the family of numbers without one, or the candidates for it."""
        if isinstance(self.families, str) and self.families == "auto":
            return ByEvidence()
        known = ", ".join(map(repr, CANDIDATES))
        if isinstance(self.families, str):
            family = FAMILIES.get(_key(self.families))
            if family is None or family.kind != "number":
                raise InputError(
                    "families must be 'auto', a family of numbers such as 'gaussian', or several of "
                    f"{known}, not {self.families!r}"
                )
            return family()
        own = {_key(name): name for name in CANDIDATES}
        names = [own.get(_key(name)) for name in self.families] if isinstance(self.families, list | tuple) else []
        if not all(names) or not names:
            raise InputError(f"families must be 'auto', a name or several of {known}, not {self.families!r}")
        return ByEvidence(tuple(filter(None, names)))

    def _gather(self, learnt: Learnt) -> None:
        """Choose families by the rows so far, keeping what is needed to choose again."""
        decided, self.choices_ = learnt.decided()
        super()._gather(decided)
        self._undecided = learnt if self.choices_ else None

    @property
    def _gathered(self) -> Learnt:
        """What was learned from all rows so far, with all candidate families."""
        return self._learnt if self._undecided is None else self._undecided

    def _conditioned(self, of_all: tuple[Statistics, ...] | None = None) -> GenerativeModel:
        """Return the model of the training rows, and note the families that were chosen."""
        model = super()._conditioned(of_all)
        for choices in self.choices_:
            said = choices.sentences()
            if said:
                self.notes_.append(f"families by evidence: {listed(said, LISTED_NAMES, AND_MORE)}")
        return model

    def _blocks(self, frame: pd.DataFrame) -> tuple[ColumnBlock, ...]:
        """Return the given blocks, then one for all other numbers and one for all other categories."""
        names = [str(name) for name in frame.columns]
        given: list[ColumnBlock] = []
        numbers = self._family_of_numbers()
        taken: set[str] = set()
        for key, family in (self.blocks or {}).items():
            members = tuple(map(str, key)) if isinstance(key, tuple | frozenset) else (str(key),)
            for name in members:
                if name not in names:
                    raise InputError(f"blocks names column {name!r}, but the table has {', '.join(map(repr, names))}")
                if name in taken:
                    raise InputError(f"blocks names column {name!r} twice; a column belongs to one block")
                taken.add(name)
            own = _family_of(family, self.alpha)
            if isinstance(own, EveryTreeOfCells):
                own = replace(own, gaps=own.gaps or self.missing == "level")
            kinds = columns.kinds_of(frame[list(members)]) if own.kind == "mixed" else {}
            given.append(ColumnBlock(own, members, mixed=tuple(n for n in kinds if kinds[n] == "category")))
        rest = [name for name in names if name not in taken]
        kinds = columns.kinds_of(frame[rest] if taken else frame)
        for of_kind in (numbers, Categorical(concentration(self.alpha, LEAST_LEVELS))):
            members = tuple(name for name in rest if kinds[name] == of_kind.kind)
            if members:
                given.append(ColumnBlock(of_kind, members))
        return tuple(given)


def _key(name: object) -> str:
    """Return the name of a family as `FAMILIES` spells it."""
    return str(name).casefold().replace(" ", "-")


def _family_of(family: Any, alpha: Concentration) -> Family[Any]:
    """Return a family given as an object or by name, which then has the classifier's α."""
    if isinstance(family, str) and _key(family) in FAMILIES:
        family = FAMILIES[_key(family)]()
        if isinstance(family, Bernoulli | Categorical | Multinomial):
            least_levels = LEAST_LEVELS if isinstance(family, Categorical) else 1
            beta: dict[str, Any] = {} if not isinstance(family, Bernoulli) else {"beta": concentration(alpha)}
            family = replace(family, alpha=concentration(alpha, least_levels), **beta)
    if not isinstance(family, Family):
        raise InputError(f"{family!r} is not a family; give one of {', '.join(FAMILIES)} or an object of one")
    return family
