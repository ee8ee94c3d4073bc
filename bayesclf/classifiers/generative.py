"""Generative classifiers: columns grouped into blocks, each with its family, and a class prior."""

from __future__ import annotations

from abc import abstractmethod
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from itertools import compress
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bayesclf.arrays import Array, Parameters
from bayesclf.classifiers import attributes, generating, passes
from bayesclf.classifiers.base import CI_PROB, BayesClassifier
from bayesclf.classifiers.generating import DocumentLengths
from bayesclf.classifiers.inputs import Training, about_constant, known_class_prior, resolved_class_prior
from bayesclf.classifiers.training import (
    MISSING_SUFFIX,
    ColumnBlock,
    FrozenPrior,
    Learnt,
    about_concentrations,
    about_impossible,
    about_numbers,
    about_unknown,
    block_cells,
    indicators,
    unknown_levels,
    varying,
)
from bayesclf.constraints import Choice, require
from bayesclf.engines import Exact, laplace
from bayesclf.engines.inference import Engine
from bayesclf.engines.unlabeled import PartlyLabeled, found_point, infer_partly
from bayesclf.errors import InputError, Refused, may_be_absent
from bayesclf.families import Bernoulli, Gaussian, Multinomial, MultivariateGaussian
from bayesclf.families.base import Family, Statistics
from bayesclf.families.class_prior import ClassPrior
from bayesclf.models import Model
from bayesclf.models.generative import Block, GenerativeModel
from bayesclf.models.tempered import LEAST_ROWS, LeftOut
from bayesclf.posterior.hypotheses import (
    Hypotheses,
    HypothesisSet,
    SeededHypotheses,
    TemperedHypotheses,
    TemperedPosterior,
    to_dataset,
)
from bayesclf.rules import Gibbs, resolve
from bayesclf.tables import columns
from bayesclf.tables.columns import Column, Rows
from bayesclf.tables.numbers import Numbers
from bayesclf.wording import written

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


PROPOSALS, TEMPERED_DRAWS = 1000, 500
"""Proposals around the mode of T and b, and the draws of these that predictions average over."""

TEMPERED = 1
"""What tells the random numbers of T and b from others of the same seed."""

MISSING = Choice(("ignore", "level"))
"""What missing cells count as."""


@dataclass(eq=False, repr=False, kw_only=True)
class GenerativeClassifier(BayesClassifier):
    """P(x, y) = π_y Π_b P(x_b | y): subclasses say which columns make up which blocks.

    They learn from rows without a label, too. EM finds the estimates, and data augmentation samples the posterior: it
    draws the labels and the parameters in turn. Default priors, a learned α, trees and chosen families are those of the
    labeled rows. Where a column of numbers has one value only among these, default priors are those of all rows.
    Estimates that were not requested are found when a rule, `posterior_` or `save` first needs them; until then the
    rows without a label are kept. What fits again, such as checks of `diagnose` that hold rows out, learns from labeled
    rows only, and `partial_fit` and `as_prior` refuse.

    Parameters
    ----------
    class_prior : {"dirichlet", "empirical", "uniform"}, float, LearntClassPrior, array of shape (outcome,) or dict
        ``"dirichlet"``: π ~ Dirichlet(1), learned; a number α above 0: π ~ Dirichlet(α), or an α for each class, as in
        ``bayesclf.families.LearntClassPrior([2.0, 1.0])``; ``"empirical"``: the training frequencies, taken as known;
        ``"uniform"``; or probabilities, in the order of the sorted labels or by label.
    missing : {"ignore", "level"}
        ``"ignore"``: a missing cell is integrated out, which is right where being missing does not depend on the
        class given what is observed; ``"level"``: it is a level of its own (for a number: a Bernoulli indicator). A
        level that the training rows lack is integrated out.
    inference : {"auto", "exact", "augmentation", "nuts", "map", "mle"} or Engine
        An engine's name, or its settings such as ``bayesclf.engines.NUTS(…)``. ``"auto"`` is exact where the posterior
        has a closed form, data augmentation where only missing cells are in the way, and NUTS otherwise.
    rule : str, Gibbs or None
        Default rule of the predictions. Where None, and there is no posterior, it is the point estimate; where there is
        one, Bayes-optimal. `NaiveBayes` and `BayesNetClassifier` then take ``"tempered"``, if at least 20 rows say how
        far the model is to be believed.
    random_state : int, Generator or None
        Seed of the posterior's draws and of the Gibbs classifier.
    prior : FrozenPrior or None
        A posterior turned prior by `as_prior`; it replaces all other priors.

    Attributes
    ----------
    class_count_ : ndarray of shape (outcome,)
        Weight of the training rows of each class.
    class_prior_ : ndarray of shape (outcome,)
        P(y = k): the posterior mean; with the rule ``"map"`` or ``"mle"`` that point; or what was given.
    left_out_ : LeftOut or None
        Densities of up to 5,000 training rows, at even distances, each under the model without that row; the rule
        ``"tempered"`` learns from them. The fit keeps these rows until they are needed. None where the posterior
        has no closed form, and after `partial_fit`.
    temper_ : xarray.Dataset
        Draws of T and b of the rule ``"tempered"``.
    """

    class_prior: Any = "dirichlet"
    missing: str = "ignore"
    inference: str | Engine = "auto"
    rule: str | Gibbs | None = None
    random_state: Any = None
    prior: FrozenPrior | None = None
    model_: GenerativeModel = field(init=False)
    _learnt: Learnt = field(init=False)
    _kept: tuple[NDArray[np.bool_], ...] = field(init=False)
    _practical = False
    """Whether the default rule corrects the model where its columns depend on each other."""
    _partly: PartlyLabeled | None = field(init=False)
    _learned_with: dict[str, Any] | None = field(init=False)
    _left_out: LeftOut | None = field(init=False)
    _draws_lengths = False
    """Whether the model is of the words of documents one by one, so that it needs to know how many there are."""
    _of_counts = False
    """Whether there is one block of numbers, perhaps sparse, so that of a hundred thousand columns names are enough."""

    @abstractmethod
    def _blocks(self, frame: pd.DataFrame) -> tuple[ColumnBlock, ...]:
        """Partition the columns of a training table."""

    partial_fit = passes.partial_fit
    _learn_stream = passes.learn_stream
    sample = generating.sample
    to_logistic = attributes.to_logistic
    predict_joint_log_proba = attributes.predict_joint_log_proba

    def as_prior(self) -> Self:
        """Return an unfitted copy whose prior is this posterior: yesterday's posterior is today's prior.

        Raises
        ------
        Refused
            Where the posterior is not of the prior's family.
        """
        check_is_fitted(self, "classes_")
        self._require_continuable("turned into a prior")
        posterior = self.model_.posterior()
        families = iter(posterior.blocks)
        frozen = FrozenPrior(
            learnt=replace(
                self._learnt,
                counts=np.zeros(len(self.classes_)),
                statistics=(),
                lengths=self._document_lengths,
                unknown=(),
            ),
            families=tuple(
                next(families).family if kept.any() else block.plain
                for block, kept in zip(self._learnt.blocks, self._kept, strict=True)
            ),
            kept=self._kept,
            class_prior=posterior.class_prior,
        )
        return clone(self).set_params(prior=frozen)  # type: ignore[no-any-return]

    def _generated(self, table: dict[str, Any], n: int, rng: np.random.Generator) -> pd.DataFrame:
        """Return generated columns of n rows as a training table has them, numbers missing where indicators say so."""
        import pandas as pd

        known = [column.name for column in self.columns_]
        for name in set(table).difference(known):
            number = name.removesuffix(MISSING_SUFFIX)
            if number in table:
                table[number] = np.where(table[name].astype(bool), np.nan, table[number])
        unused = np.full(n, np.nan)
        return pd.DataFrame({name: table.get(name, unused) for name in known})

    @property
    def columns_(self) -> tuple[Column, ...]:
        """The training columns, with what each holds and its levels."""
        check_is_fitted(self, "classes_")
        return tuple(self._learnt.columns.values()) or tuple(Column(name, "number") for name in self._column_names)

    @property
    def _column_names(self) -> tuple[str, ...]:
        return tuple(self._learnt.columns) or self._learnt.blocks[0].names

    def _make_model(self, rows: Training) -> Model:
        return self._model_of(self._learn(rows, None, every_row=True), rows)

    def _model_of(self, learnt: Learnt, rows: Training | None = None) -> GenerativeModel:
        """Return the model of what was learned, and keep the rows given that are to be left out."""
        self._gather(learnt)
        model = self._conditioned()
        self.notes_ += about_numbers(self._learnt)
        if rows is not None and not model.not_conjugate():
            chosen = np.zeros(len(rows.y), dtype=bool)
            chosen[rows.left_out()] = True
            some = rows.kept(chosen)
            by_column, every = getattr(self, "temper", "all") == "column", np.arange(len(some.y))
            copied = self.encode(some.frame)[every], some.y, some.weights[every]  # the table may change later
            self._left_out = cast("Any", partial(LeftOut.of, model, *copied, by_column))
        return model

    @property
    @may_be_absent
    def left_out_(self) -> LeftOut | None:
        """Densities of training rows under the model without each of them, computed on first use."""
        check_is_fitted(self, "classes_")
        rows: Any = self._left_out
        if callable(rows):
            self._left_out = rows()
        return self._left_out

    def __getstate__(self) -> dict[str, Any]:
        if callable(vars(self).get("_left_out")):
            _ = self.left_out_
        return super().__getstate__()

    @property
    @may_be_absent
    def temper_(self) -> xr.Dataset:
        """Draws of T and b, (chain, draw, …): how far the rule ``"tempered"`` believes what the model says of x.

        T multiplies log p(x | k, D), and b_k is added to it; see `bayesclf.models.tempered`. ``attrs`` has k̂ of the
        importance weights that corrected the normal approximation.

        Raises
        ------
        Refused
            For a fit to rows that cannot be left out in closed form.
        """
        check_is_fitted(self, "classes_")
        parameters, khat = self._temper
        dims = {"T": (), "b": ("outcome",), "tau": (), "T_column": ("column",)}
        coords = {"outcome": list(self._labels), "column": list(cast("LeftOut", self.left_out_).columns)}
        own = {name: dims[name] for name in parameters}
        return to_dataset(parameters, own, coords).assign_attrs(pareto_k=khat)

    @cached_property
    def _temper(self) -> tuple[Parameters, float]:
        """Return draws of T (draw) and b (draw, outcome), and the k̂ of their importance weights."""
        if self.left_out_ is None:
            raise Refused(f"the rule 'tempered' leaves rows out, but {self._untempered()}; use another rule")
        rng = np.random.default_rng([self.seed_, TEMPERED])
        if self.left_out_.columns:
            settings = laplace.Laplace(TEMPERED_DRAWS, 1)
            proposals = laplace.enough(self.left_out_, settings, rng, laplace.pilot(self.left_out_, rng)[1])
        else:
            proposals = laplace.propose(self.left_out_, PROPOSALS, rng)
        # a power below 1 where a few would be the answer alone
        power = laplace.power_of(proposals.log_weight, laplace.LEAST_EFFECTIVE)
        chosen = laplace.systematic(proposals.weight**power, TEMPERED_DRAWS, rng)
        return {name: values[chosen] for name, values in proposals.parameters.items()}, proposals.khat

    def _untempered(self) -> str:
        """Return why no T was learned, as a clause."""
        if reason := self.model_.not_conjugate():
            return f"no row can be left out in closed form ({reason})"
        if self.left_out_ is None:
            return "rows of partial_fit are not kept; fit and fit_stream learn the factor"
        if not len(self.left_out_.y):
            return "no training row can be left out: each is alone in its class, or a family has no closed form"
        rows = self.left_out_.weight.sum()
        few = f"{rows:g} row{'' if rows == 1 else 's'}, fewer than {LEAST_ROWS},"
        return f"{few} are too few to learn the factor, and 'tempered' would average over its prior"

    @property
    def _rule_of_posterior(self) -> str:
        """``"tempered"`` for a practical classifier, where rows teach T; else Bayes-optimal."""
        learned = self._practical and self.left_out_ is not None and self.left_out_.learned
        return "tempered" if learned else super()._rule_of_posterior

    def _infer(self, model: Model) -> None:
        super()._infer(model)
        if self._may_temper and self.requested_rule(None) == "tempered":
            self._note_draws(about_temper(self._temper[0]["T"], learned=cast("LeftOut", self.left_out_).learned))
        elif self._may_temper and self.rule is None and self.draws_ is not None:
            self._note_draws(
                f"the log-likelihood of the columns has the factor 1 (rule 'bayes-optimal'): {self._untempered()}"
            )

    @property
    def _may_temper(self) -> bool:
        """Whether the rule of the constructor, or the default, is ``"tempered"`` if there are rows to learn T from."""
        return self.rule == "tempered" or (self._practical and self.rule is None)

    def hypotheses(self, source: str, class_prior: Any = None) -> Hypotheses | SeededHypotheses:
        """Return hypotheses as `BayesClassifier.hypotheses` does; of ``"tempered"`` they are values of T and b."""
        if not isinstance(source, str) or source != "tempered":
            return super().hypotheses(source, class_prior)
        model: Any = self._with_class_prior(class_prior)[0]
        draws = None if self.draws_ is None else super().hypotheses("posterior", class_prior)
        return TemperedHypotheses(model, self._temper[0], draws=draws)

    def spread(self, rule: str, class_prior: Any = None) -> HypothesisSet:
        """Return the hypotheses whose probabilities spread around the answer of a rule that averages over them."""
        found = super().spread(rule, class_prior)
        tempers = resolve(rule)[0].name == "tempered"
        return TemperedPosterior(cast("Any", found), self._temper[0]) if tempers else found

    def _gather(self, learnt: Learnt) -> None:
        """Keep what was learned from all rows so far; a subclass may decide by it what blocks there are."""
        self._learnt, self._left_out = learnt, None
        self._learned_with = deepcopy(self._options_of_blocks())  # what is changed in place is seen, too

    def _options_of_blocks(self) -> dict[str, Any]:
        """Return the options that say what the blocks are, among them all that only this kind of classifier has."""
        shared = {option.name for option in fields(GenerativeClassifier)} - {"missing"}
        return {name: value for name, value in self.get_params(deep=False).items() if name not in shared}

    def _require_continuable(self, done: str) -> None:
        """Raise `Refused` for a fit that other rows cannot be added to, as options or rows without labels say."""
        if self.model_.unlabeled:
            raise Refused(
                f"a fit to rows without labels cannot be {done}, as what these rows say depends on all others; fit all "
                "rows at once"
            )
        options = self._options_of_blocks()
        for name, before in (self._learned_with or options).items():
            if not passes.same_setting(before, options[name]):
                was, now = (written(value, columns.LONGEST_VALUE) for value in (before, options[name]))
                raise Refused(
                    f"{name} was {was} in the fit and is {now} now, so the fit cannot be {done}; set it back, or fit "
                    "all rows"
                )

    @property
    def _gathered(self) -> Learnt:
        """What was learned from all rows so far."""
        return self._learnt

    def _table_of(self, frame: pd.DataFrame, learnt: Learnt) -> Any:
        """Return training rows as the table that blocks take their cells from."""
        return frame

    def _blocks_of_batch(self, first: Learnt | None) -> tuple[ColumnBlock, ...] | None:
        """Return the blocks of a batch's columns, given what was learned from the first ones; None to find them."""
        return None if first is None else first.blocks

    def _learn(self, rows: Training, blocks: tuple[ColumnBlock, ...] | None, every_row: bool) -> Learnt:
        """Return the statistics of rows, on blocks that may be given, and what only `every_row` together teaches."""
        self._check_options()
        frame, y, weight = rows.frame, rows.y, rows.weight
        if self.prior is not None:
            blocks = self.prior.learnt.blocks
        elif blocks is None:
            blocks = self._blocks(frame)
            if self.missing == "level":
                blocks += indicators(blocks)
        training = {} if self._of_counts else self._training_columns(frame, blocks)
        counts = np.bincount(y, weight, minlength=len(self.classes_)).astype(float)
        learnt = Learnt(self.classes_, training, blocks, counts, ())
        if self.prior is not None:
            learnt = self._on_prior_axes(learnt)
        cells = [block_cells(learnt, frame, block) for block in blocks]
        statistics: list[Statistics] = []
        unknown: tuple[str, ...] = ()
        for block, X in zip(blocks, cells, strict=True):
            if self.prior is not None:
                unknown += unknown_levels(block, X, self.missing)
            if block.family.kind != "category":
                columns.require_not_tiny(X, block.names)
            family: Any = block.family
            if self.prior is not None and family.kind == "mixed":
                family = self.prior.families[len(statistics)]  # whose edges are known, also those that were learned
            statistics.append(family.statistics(X, y, learnt.axes(block), weight))
        lengths = None
        if self._draws_lengths:
            lengths = DocumentLengths.of(np.ravel(cells[0].sum(axis=1)), y, weight, len(self.classes_))
        learnt = replace(learnt, statistics=tuple(statistics), lengths=lengths, unknown=unknown)
        if self.prior is not None or not every_row:
            return learnt
        return learnt.learned_from_rows(cells, rows, self._class_prior(counts).posterior(counts))

    @property
    def _document_lengths(self) -> DocumentLengths | None:
        """The lengths of all documents so far, those behind the prior among them."""
        known = None if self.prior is None else self.prior.learnt.lengths
        own = self._learnt.lengths
        return known + own if known is not None and own is not None else own if known is None else known

    def _training_columns(self, frame: pd.DataFrame, blocks: tuple[ColumnBlock, ...]) -> dict[str, Column]:
        """Return the training columns by name, with the levels of the categorical ones."""
        categorical = {name for b in blocks if not b.indicator for name in b.categories}
        numbers = tuple(str(name) for name in frame.columns if name not in categorical)
        known = columns.ranges(frame, numbers)
        found = {str(name): Column(str(name), "number", range=known.get(str(name))) for name in frame.columns}
        for name in categorical.intersection(found):
            of_numbers = columns.kind_of(frame[name]) == "number"
            levels = columns.levels_of(frame[name], self.missing)
            found[name] = Column(name, "category", levels, of_numbers=of_numbers)
        return found

    def _on_prior_axes(self, learnt: Learnt) -> Learnt:
        """Return what is being learned on the labels and levels of the prior, which must cover the rows'."""
        assert self.prior is not None
        known = self.prior.learnt
        if not np.array_equal(np.union1d(known.classes, learnt.classes), known.classes):
            raise InputError(
                f"the prior knows the classes {known.classes.tolist()}, but the rows have {learnt.classes.tolist()}"
            )
        if len(known.classes) != len(learnt.classes):
            raise InputError(f"fit with classes={known.classes.tolist()}: the prior knows classes that these rows lack")
        return replace(learnt, columns=known.columns)

    def _conditioned(self, of_all: tuple[Statistics, ...] | None = None) -> GenerativeModel:
        """Return the model of prior and statistics; `of_all` has those of all rows where some have no label."""
        learnt = self._learnt
        of_all = learnt.statistics if of_all is None else of_all
        blocks: list[Block] = []
        self.notes_: list[str] = []
        if self.prior is not None:
            families, self._kept = self.prior.families, self.prior.kept
        else:
            families = tuple(block.plain for block in learnt.blocks)
            self._kept = tuple(map(self._informative, learnt.blocks, of_all))
        suffixes = self._suffixes(families)
        described = zip(learnt.blocks, learnt.statistics, of_all, families, self._kept, suffixes, strict=True)
        for column_block, statistics, every, family, keep, suffix in described:
            self._note_unused(column_block, keep, statistics)
            if not keep.any():
                continue
            selected = statistics.select(keep)
            resolved = family
            if self.prior is None:
                varied = selected
                if every is not statistics:
                    varied, remarks = varying(family, selected, every.select(keep))
                    self.notes_ += remarks
                resolved = family.resolve_prior(varied)
                self.notes_ += about_concentrations(column_block, resolved, selected)
            self.notes_ += resolved.remarks(selected)
            blocks.append(Block(resolved, selected, suffix))
        self.notes_ += about_unknown(learnt.unknown)
        return GenerativeModel(self._labels, self._class_prior(learnt.counts), learnt.counts, tuple(blocks))

    def _suffixes(self, families: tuple[Family[Any], ...]) -> list[str]:
        """Return suffixes of the blocks' parameters; blocks that the user named are numbered last."""
        used: dict[str, int] = {}
        suffixes = [""] * len(families)
        for index in sorted(range(len(families)), key=lambda index: index < self._named_blocks):
            if self._kept[index].any() and (number := _number(families[index], used)) > 1:
                suffixes[index] = f"_{number}"
        return suffixes

    @property
    def _named_blocks(self) -> int:
        """How many of the first blocks the user named."""
        return 0

    def _informative(self, block: ColumnBlock, statistics: Any) -> NDArray[np.bool_]:
        """Return which features can be informative about the label."""
        if block.indicator:
            return np.asarray(statistics.counts.sum(axis=0)[1::2] > 0)
        return np.asarray(block.plain.informative(statistics))

    def _note_unused(self, block: ColumnBlock, keep: NDArray[np.bool_], statistics: Statistics) -> None:
        if block.indicator:
            lost = () if self.prior is None else compress(block.names, self._informative(block, statistics) & ~keep)
            self.notes_ += [f"the prior does not use whether column {name!r} is missing" for name in lost]
            return
        names = compress(block.names, ~keep)
        if self.prior is not None:
            self.notes_ += [f"the prior does not use column {name!r}" for name in names]
        elif self.missing == "level":
            only = "has at most one value; only its missing cells can be informative"
            self.notes_ += [f"column {name!r} {only}" for name in names]
        else:
            self.notes_ += about_constant(list(names))

    def _class_prior(self, counts: Array) -> ClassPrior:
        """Return the class prior in numbers, given the weight of each label (outcome)."""
        if self.prior is not None:
            return self.prior.class_prior
        return resolved_class_prior(self.class_prior, counts, self.classes_)

    def _validated(self, X: Any, reset: bool) -> Any:
        if reset:
            self._check_options()  # before scikit-learn reads tags, which depend on some
        return super()._validated(X, reset)

    def _check_options(self) -> None:
        if self.prior is not None and not isinstance(self.prior, FrozenPrior):
            raise InputError(
                f"prior must be what as_prior has set, not {type(self.prior).__name__}; the classifier that "
                "clf.as_prior() returns has it already, so fit that one to the new rows"
            )
        require(MISSING, missing=self.missing)

    def _with_class_prior(self, class_prior: Any) -> tuple[Model, Array | None]:
        """Use given base rates instead of π in every hypothesis."""
        if class_prior is None:
            return self.model_, None
        return replace(self.model_, class_prior=known_class_prior(class_prior, self.classes_)), None

    def encode(self, frame: pd.DataFrame) -> Rows:
        """Return rows of checked columns in the encoding of each block that has a column left."""
        parts: list[Any] = []
        for block, kept in zip(self._learnt.blocks, self._kept, strict=True):
            if not kept.any():
                continue
            X = block_cells(self._learnt, frame, block)
            if isinstance(X, Numbers):
                parts.append(X.select(kept))
                continue
            # Sums over rows depend, in their last bits, on the order in memory, which indexing makes the same for all.
            parts.append(X if sparse.issparse(X) and kept.all() else X[:, kept])
        return Rows(tuple(parts), len(frame))

    @property
    def _learns_unlabeled(self) -> bool:
        return True

    def _partly_labeled(self, rows: Training) -> PartlyLabeled:
        """Return prior and rows, of which some have the code `UNLABELED`."""
        self._require_words_in_parts("rows without a label")
        labeled, others = rows.kept(rows.labeled), rows.kept(~rows.labeled)
        # all rows first, so that what is wrong with a cell is told by its row of the table
        of_one_class = replace(rows, y=np.zeros(len(rows.y), dtype=np.intp))
        every = self._learn(of_one_class, None, every_row=False)
        learnt = self._learn(labeled, every.blocks, every_row=True)
        self._gather(learnt.widened(every))
        if any(block.candidate for block in self._learnt.blocks):
            every = self._learn(of_one_class, self._learnt.blocks, every_row=False)
        model = self._conditioned(every.widened(self._learnt).statistics)
        self.notes_ += about_numbers(self._learnt)
        self.notes_ += about_impossible(self._learnt.blocks, rows.frame, np.flatnonzero(~rows.labeled))
        own = self.encode(labeled.frame), labeled.y, labeled.weights
        return PartlyLabeled(model, *own, self.encode(others.frame), others.weights)

    def _require_words_in_parts(self, what: str) -> None:
        """Raise `Refused` where an option looks at all training rows at once; `what` is what it is not for."""

    def _infer_partly(self, rows: Training) -> None:
        """Set the fitted state that depends on labeled and other rows, engine and seed."""
        partly = self._partly_labeled(rows)
        self._renew(replace(partly.model, unlabeled=len(partly.rows)))
        found = infer_partly(partly, self.inference, self.seed_)
        self.points_, self.draws_, self.inference_ = found.points, found.draws, found.engine
        self.convergence_problems_ = found.problems
        self.notes_.append(
            f"{len(partly.rows):,} of {len(rows.y):,} training rows have no label, and count in each class by its "
            "probability"
        )
        self._partly = partly

    def _renew(self, model: Model) -> None:
        super()._renew(model)
        self.__dict__.pop("_temper", None)
        self._partly = None

    def _point(self, name: str) -> Parameters:
        """Return the estimate ``"mle"`` or ``"map"``; rows without a label are kept until EM has found both."""
        if self._partly is not None and name not in self.points_:
            self.points_[name], _ = found_point(self._partly, name)
        if {"mle", "map"} <= self.points_.keys():
            self._partly = None
        return super()._point(name)

    @property
    def class_count_(self) -> Array:
        """Weight of the training rows of each class, (outcome)."""
        return np.array(attributes.fitted_model(self, "class_count_").label_counts)

    @property
    def class_prior_(self) -> Array:
        """P(y = k), (outcome): the posterior mean, the requested point, or what was given."""
        model = attributes.fitted_model(self, "class_prior_")
        return np.array(model.class_probabilities(self._point_parameters("class_prior_"))[0])

    @property
    def theta_(self) -> Array:
        """Mean of each column in each class, (outcome, feature), of independent Gaussian columns."""
        return attributes.of_blocks(self, "theta_", Gaussian, attributes.means)

    @property
    def var_(self) -> Array:
        """Variance of each column in each class, (outcome, feature), of independent Gaussian columns."""
        return attributes.of_blocks(self, "var_", Gaussian, attributes.variances)

    @property
    def means_(self) -> Array:
        """Mean of each column in each class, (outcome, feature), of columns that are jointly Gaussian."""
        return attributes.of_blocks(self, "means_", MultivariateGaussian, attributes.means)

    @property
    def covariance_(self) -> Array:
        """Covariance of jointly Gaussian columns, (feature, feature), or of each class, (outcome, feature, feature)."""
        return attributes.covariance(self)

    @property
    def feature_count_(self) -> Array:
        """Weight of the occurrences of each feature in each class, (outcome, feature), of events or counts."""
        return attributes.of_blocks(self, "feature_count_", (Bernoulli, Multinomial), attributes.occurrences)

    @property
    def feature_log_prob_(self) -> Array | list[Array]:
        """log θ of each feature in each class, (outcome, feature), of events or counts.

        Of categorical columns it is a list of arrays (outcome, level), one for each column.
        """
        kinds, log_theta = (Bernoulli, Multinomial), attributes.log_theta
        if attributes.are_all(self, "feature_log_prob_", kinds):
            return attributes.of_blocks(self, "feature_log_prob_", kinds, log_theta)
        return attributes.of_levels(self, "feature_log_prob_", log_theta)

    @property
    def category_count_(self) -> list[Array]:
        """Weight of each level in each class, one array (outcome, level) for each categorical column."""
        return attributes.of_levels(self, "category_count_", attributes.occurrences)

    @property
    def coef_(self) -> Array:
        """Weights of a linear model, (1, feature) for two classes, else (outcome, feature) that add up to 0.

        Those that `to_logistic` gives, averaged over the posterior or of the requested point; 0 for a column that is
        not used. Of `BernoulliNB` they are weights of presence.
        """
        return attributes.linear(self, "coef_")[0]

    @property
    def intercept_(self) -> Array:
        """Log-odds of a linear model at x = 0, (1) for two classes, else (outcome) that add up to 0."""
        return attributes.linear(self, "intercept_")[1]


def about_temper(T: Array, learned: bool) -> str:
    """Say how far the model is believed, from draws of T (draw)."""
    low, high = np.quantile(T, [(1 - CI_PROB) / 2, (1 + CI_PROB) / 2])
    interval = f"{T.mean():.2f} ({100 * CI_PROB:.0f}% interval {low:.2f} to {high:.2f})"
    counts = f"the log-likelihood of the columns is multiplied by {interval}"
    if not learned:
        return f"{counts}, as in the prior: there are too few rows to leave out"
    if high < 1:
        said = "as the columns say less about the class than the model assumes"
    else:
        more = "as the columns say more about the class than the model assumes"
        said = more if low > 1 else "and 1 is not ruled out"
    return f"{counts}, {said} (rule 'tempered', by rows left out)"


def is_exact(inference: str | Engine) -> bool:
    """Return whether an engine takes models in closed form only."""
    return inference == "exact" or isinstance(inference, Exact)


def _number(family: Family[Any], used: dict[str, int]) -> int:
    """Return, from 1, the number of a block among those that share a name of a parameter or an axis with it."""
    names = {*family.dims(), *(axis for axes in family.dims().values() for axis in axes if axis != "outcome")}
    number = 1 + max(used.get(name, 0) for name in names)
    used |= dict.fromkeys(names, number)
    return number
