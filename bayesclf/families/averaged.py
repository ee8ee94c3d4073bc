"""Families of numeric columns averaged by their evidence: which family a column has is a parameter with a posterior."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self, override

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

from bayesclf.constraints import Choice, Number, require
from bayesclf.errors import InputError
from bayesclf.families.averaged_statistics import AveragedStatistics
from bayesclf.families.base import Axes, Family, Statistics
from bayesclf.families.by_evidence import CANDIDATES
from bayesclf.families.hurdle import HurdleStatistics
from bayesclf.families.prior_lines import PriorLine, prior_lines, suffixed, written
from bayesclf.families.terms import Contributions, Pair, difference, each
from bayesclf.families.without_pymc import WithoutPyMC
from bayesclf.typing import Array, Integers, Parameters


@dataclass(frozen=True, repr=False)
class Averaged(WithoutPyMC, Family[AveragedStatistics]):
    """Each feature has one of several families, the same in all classes: x_j | y = k, f_j = f ~ p_f(x_j | θ_fjk).

    ========= ======================= ====== =====================================
    parameter support                 prior  posterior
    ========= ======================= ====== =====================================
    f_j       the families            P(f_j) ∝ P(f_j) p(D_j | f_j)
    θ_fjk     that of the family f    its    its posterior given the rows D_j
    ========= ======================= ====== =====================================

    The evidence p(D_j | f) is of the rows of all classes. Features are independent given the labels, so that nothing is
    searched: a sum over the families of each feature is one over those of all features. The predictive is

    .. math:: p(x_j | y, D) = \\sum_f P(f | D_j) \\, p_f(x_j | y, D_j),

    with one P(f | D_j) for all classes. A hypothesis has one family for each feature, `is_…` = 1, and parameters of
    every family: a draw takes f_j from its posterior and those of each family from theirs given that family, whether or
    not the feature is of it. MAP and MLE are the estimates given the most probable family, beside modes of the
    others; the mean has `is_…` = P(f | D_j), and its density is the mixture.

    Densities and masses are compared, and added, per step of the column: a mass is divided by it. A cell that a family
    cannot have is impossible under it; one that none with a positive probability can have counts as missing.

    Parameters
    ----------
    names : tuple of str
        The families, by their names in `bayesclf.families.by_evidence.CANDIDATES`.
    steps : float or array
        Width of the cells that values stand for, above 0: a number, or an array (feature).
    log_weights : array or None
        log P(f) up to a constant, an array (family, 1 or feature); None where all are equally probable.
    by_evidence : bool
        Whether all families are equally probable and `log_weights` was set by the rows: where a family is compared
        under another prior than that of its parameters, it is the log of the ratio of both evidences, and 0 otherwise.
    families : tuple of Family
        Set by `resolve_prior`.

    References
    ----------
    Hoeting, Madigan, Raftery & Volinsky (1999), *Bayesian model averaging: a tutorial*, Statistical Science 14.
    """

    names: tuple[str, ...] = tuple(CANDIDATES)
    steps: float | Array = 1.0
    log_weights: Array | None = None
    by_evidence: bool = False
    families: tuple[Family[Any], ...] = field(default=(), repr=False)
    name: ClassVar[str] = "averaged"
    kind: ClassVar[str] = "number"
    statistics_type: ClassVar[type[Statistics]] = AveragedStatistics
    # Summed out, the families would leave separate modes, which NUTS cannot weigh.
    _no_pymc: ClassVar[str] = (
        "which family a column has is averaged over in closed form and has no PyMC model; use inference='exact', "
        "or families='auto', which chooses one family for each column"
    )

    def __post_init__(self) -> None:
        for name in self.names:
            require(Choice(CANDIDATES), names=name)
        if not self.names:
            raise InputError("names must have at least one family, not none")
        require(Number(above=0, array=True), steps=self.steps)

    @property
    @override
    def axes(self) -> Axes:
        """Coordinates of all families."""
        return self.families[0].axes if self.families else Axes((), ())

    @property
    def _plain(self) -> tuple[Family[Any], ...]:
        """The families, before `resolve_prior` as candidates have them."""
        return self.families or tuple(CANDIDATES[name].family for name in self.names)

    @override
    def statistics(self, X: Array, y: Integers, axes: Axes, sample_weight: Array | None = None) -> AveragedStatistics:
        """Return the statistics of each family; a cell that one of them cannot have counts as missing for all."""
        return AveragedStatistics.of(self._shared(X), y, axes, sample_weight, self._plain)

    def resolve_prior(self, statistics: AveragedStatistics) -> Self:
        """Return the prior of each family in numbers, and the probabilities of the families."""
        families = tuple(f.resolve_prior(part) for f, part in zip(self._plain, statistics.parts, strict=True))
        shape = len(self.names), len(statistics.axes.features)
        given = np.zeros(shape) if self.log_weights is None else np.broadcast_to(self.log_weights, shape)
        steps = np.array(np.broadcast_to(np.asarray(self.steps, dtype=float), shape[1:]))
        return replace(self, families=families, steps=steps, log_weights=log_softmax(given, axis=0))

    def informative(self, statistics: AveragedStatistics) -> NDArray[np.bool_]:
        """Return, for each feature, whether it can be informative to every family."""
        parts = zip(self._plain, statistics.parts, strict=True)
        return np.asarray(np.logical_and.reduce([family.informative(part) for family, part in parts]))

    @property
    @override
    def likelihood(self) -> str:
        """The distributions of all families."""
        return " or ".join(self._worded(number, family.likelihood) for number, family in enumerate(self._plain))

    @override
    def priors(self) -> list[PriorLine]:
        """Return the probability of each family, and its priors."""
        lines = []
        for number, (name, family) in enumerate(zip(self.names, self.families, strict=True)):
            lines += self._share_lines(name, number)
            for line in family.priors():
                parameter, form = self._worded(number, line.parameter), self._worded(number, line.form)
                lines.append(line._replace(parameter=parameter, form=form))
        return lines

    def mle(self, statistics: AveragedStatistics) -> Parameters:
        """Return the most probable family's estimate; raises `DoesNotExist` where it has none."""
        chosen, estimates = self._log_joint(statistics).argmax(axis=0), self._modes(statistics)
        for number in np.unique(chosen):
            own = chosen == number
            of_family = self.families[number].select(own).mle(statistics.parts[number].select(own))
            for name, values in of_family.items():
                places = [self._places[number][j][name] for j in np.flatnonzero(own)]
                estimates[number][name][..., np.concatenate(places)] = values
        return self._named(self._indicated(chosen[None]), estimates)

    def map(self, statistics: AveragedStatistics) -> Parameters:
        """Return the most probable family, and the mode of the parameters given it."""
        chosen = self._log_joint(statistics).argmax(axis=0)
        return self._named(self._indicated(chosen[None]), self._modes(statistics))

    @override
    def not_conjugate(self, statistics: AveragedStatistics) -> str:
        """Return why a family has no closed form; empty where all have one."""
        parts = zip(self.families, statistics.parts, strict=True)
        return next(filter(None, (family.not_conjugate(part) for family, part in parts)), "")

    def posterior(self, statistics: AveragedStatistics) -> Self:
        """Return all posteriors, and the posterior probabilities of the families."""
        families = tuple(f.posterior(part) for f, part in zip(self.families, statistics.parts, strict=True))
        log_weights = log_softmax(self._log_joint(statistics), axis=0)
        return replace(self, families=families, log_weights=log_weights, by_evidence=False)

    @override
    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw the family of each feature, and the parameters of every family."""
        below = np.cumsum(np.exp(self._log_weights), axis=0)
        place = (rng.random((draws, 1, below.shape[1])) * below[-1] >= below).sum(axis=1)
        return self._named(self._indicated(place), [family.draw(rng, draws) for family in self.families])

    def mean(self) -> Parameters:
        """Return the probabilities of the families, and the expectation of the parameters given each."""
        return self._named(np.exp(self._log_weights)[None], [family.mean() for family in self.families])

    def log_density(self, X: Array, parameters: Parameters) -> Array:
        """Return the sum over features of log Σ_f is_f p_f(x_j | y, θ_f), (draw, row, outcome)."""
        out: Array = np.zeros((len(parameters[_share(self.names[0])]), len(X), len(self.axes.labels)))
        for j in range(X.shape[1]):
            out += self._log_cells(X[:, j], j, parameters)
        return out

    def log_predictive(self, X: Array) -> Array:
        """Return Σ_j log Σ_f P(f | D_j) p_f(x_j | y, D_j), (row, outcome)."""
        out: Array = np.zeros((len(X), len(self.axes.labels)))
        for j, families in enumerate(self._columns):
            out += self._mixed(
                X[:, j],
                j,
                self._log_weights[:, [j]],
                lambda number, cells, _, own=families: own[number].log_predictive(cells)[None],  # type: ignore[misc]
            )[0]
        return out

    @override
    def log_predictive_without(self, X: Array, y: Integers) -> Array:
        """Average by P(f | D_j without x) ∝ P(f | D_j) / p_f(x | its own class, D_j without x)."""
        X, every = self._shared(X), np.arange(len(y))
        out: Array = np.zeros((len(y), len(self.axes.labels)))
        for j, families in enumerate(self._columns):
            of_family = np.stack(
                [
                    family.log_predictive_without(X[:, [j]], y) - self._log_widths(number, X[:, j], j)[:, None]
                    for number, family in enumerate(families)
                ]
            )
            without = self._log_weights[:, j, None] - of_family[:, every, y]
            out += logsumexp(log_softmax(without, axis=0)[..., None] + of_family, axis=0)
        return out

    @override
    def log_evidence(self, statistics: AveragedStatistics) -> Array:
        """Return log Σ_f P(f) p(D_j | f), (feature)."""
        return np.asarray(logsumexp(self._log_joint(statistics), axis=0))

    @override
    def contributions(self, X: Array, parameters: Parameters, pair: Pair) -> Contributions:
        """Return the log-odds of the mixture of each feature."""
        rows = np.arange(len(X))
        values = []
        for j in range(X.shape[1]):
            of_cells = self._log_cells(X[:, j], j, parameters)
            values.append(difference(*(of_cells[:, rows, codes] for codes in pair)))
        return Contributions.of_rows(each(self.axes.features), np.stack(values, axis=2))

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw the family of each cell, which is that of its feature in a hypothesis with one, and then the cell."""
        out = np.empty((len(y), len(self.axes.features)))
        for j, families in enumerate(self._columns):
            share = np.array([parameters[_share(name)][0, j] for name in self.names])
            number = rng.choice(len(share), size=len(y), p=share / share.sum())
            for own in np.unique(number):
                rows = number == own
                out[rows, j] = families[own].sample(self._own(own, j, parameters), y[rows], rng)[:, 0]
        return out

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of whether a feature is of each family, and of the families' parameters."""
        dims: dict[str, tuple[str, ...]] = {_share(name): ("feature",) for name in self.names}
        for number, family in enumerate(self._plain):
            dims |= {self._worded(number, parameter): axes for parameter, axes in family.dims().items()}
        return dims

    @override
    def coords(self) -> dict[str, Any]:
        """Return the names along the axes of all families."""
        return {axis: names for family in self.families for axis, names in family.coords().items()}

    def _share_lines(self, name: str, number: int) -> list[PriorLine]:
        """Return the prior probability of a family, and under which prior it is compared where that is another one."""
        if not self.by_evidence:
            share = np.exp(self._log_weights[number][None])
            return prior_lines(_share(name), "1 with probability {share}, else 0", self.axes, share=share)
        compared: Any = CANDIDATES[name].compared
        remark = "" if compared is None else f", weighed by its evidence at a = {written(compared.a)}"
        share = np.full((1, len(self.axes.features)), 1 / len(self.names))
        return prior_lines(_share(name), f"1 with probability {{share}}{remark}, else 0", self.axes, share=share)

    @property
    def _log_weights(self) -> Array:
        """log P(f), (family, feature)."""
        return np.asarray(self.log_weights)

    @cached_property
    def _columns(self) -> tuple[tuple[Family[Any], ...], ...]:
        """The families of each feature alone."""
        every = np.arange(len(self.axes.features))
        return tuple(tuple(family.select(every == j) for family in self.families) for j in every)

    @cached_property
    def _places(self) -> tuple[tuple[dict[str, Integers], ...], ...]:
        """Where each parameter of each family has its values of each feature, by family and feature."""
        out = []
        for family in self.families:
            dims, coords = family.dims(), family.coords()
            owners = {name: np.array(_owners(coords, axes[-1]), dtype=object) for name, axes in dims.items()}
            of_features = (
                {name: np.flatnonzero(owner == feature) for name, owner in owners.items()}
                for feature in self.axes.features
            )
            out.append(tuple(of_features))
        return tuple(out)

    def _log_joint(self, statistics: AveragedStatistics) -> Array:
        """Return log P(f) p(D_j | f), (family, feature)."""
        rows = [
            family.log_evidence(part) - _masses(name, part) * np.log(self.steps)
            for name, family, part in zip(self.names, self.families, statistics.parts, strict=True)
        ]
        return self._log_weights + np.stack(rows)

    def _log_cells(self, x: Array, j: int, parameters: Parameters) -> Array:
        """Return log Σ_f is_f p_f(x | y, θ_f) of the cells of a feature (row), (draw, row, outcome)."""
        with np.errstate(divide="ignore"):
            log_shares = np.log([parameters[_share(name)][:, j] for name in self.names])

        def log_density(number: int, cells: Array, draws: Integers) -> Array:
            """Return log p_f of the family of a number."""
            own = {name: values[draws] for name, values in self._own(number, j, parameters).items()}
            return self._columns[j][number].log_density(cells, own)

        return self._mixed(x, j, log_shares, log_density)

    def _own(self, number: int, j: int, parameters: Parameters) -> Parameters:
        """Return the parameters of a family for one feature, under its own names."""
        places = self._places[number][j].items()
        return {name: parameters[self._worded(number, name)][..., place] for name, place in places}

    def _mixed(
        self, x: Array, j: int, log_shares: Array, log_density: Callable[[int, Array, Integers], Array]
    ) -> Array:
        """Return the log of a mixture of the families' densities of cells (row), (draw, row, outcome).

        Parameters
        ----------
        x
            Cells of a feature.
        j
            The feature.
        log_shares
            Log of the shares of the families, (family, draw).
        log_density
            From the number of a family, cells (row, 1) and numbers of draws to its log density, (draw, row, outcome).
        """
        out = np.full((len(x), len(self.axes.labels), log_shares.shape[1]), -np.inf).transpose(2, 0, 1)
        known = np.zeros(out.shape[:2], dtype=bool)
        for number, log_share in enumerate(log_shares):
            draws = np.flatnonzero(log_share > -np.inf)
            if not draws.size:
                continue
            possible = _possible(self.names[number], x)
            own = log_density(number, np.where(possible, x, np.nan)[:, None], draws)
            own = own - self._log_widths(number, x, j)[:, None]
            own[:, ~possible] = -np.inf
            if (log_share[draws] < 0).any():
                own = np.logaddexp(out[draws], own + log_share[draws, None, None])
            out[draws] = own  # of draws that are of one family no other has a share
            known[draws] |= possible
        out[~known] = 0.0
        return out

    def _log_widths(self, number: int, x: Array, j: int) -> Array:
        """Return the log of what the density of each cell (row) is divided by: the step where it is a mass."""
        masses = CANDIDATES[self.names[number]].masses(x)
        return np.where(masses, np.log(np.asarray(self.steps)[j]), 0.0)

    def _shared(self, X: Array) -> Array:
        """Return the cells (row, feature) that all families can have, NaN for all others."""
        return np.where(np.logical_and.reduce([_possible(name, X) for name in self.names]), X, np.nan)

    def _modes(self, statistics: AveragedStatistics) -> list[Parameters]:
        """Return the mode of the parameters given each family."""
        return [family.map(part) for family, part in zip(self.families, statistics.parts, strict=True)]

    def _indicated(self, place: Integers) -> Array:
        """Return 1 for the family of each feature and 0 for others, (draw, family, feature), by (draw, feature)."""
        return np.asarray(place[:, None] == np.arange(len(self.names))[:, None], dtype=float)

    def _named(self, shares: Array, parameters: Iterable[Parameters]) -> Parameters:
        """Return shares (draw, family, feature) and the parameters of each family under the names of this one."""
        out = {_share(name): shares[:, number] for number, name in enumerate(self.names)}
        for number, own in enumerate(parameters):
            out |= {self._worded(number, name): values for name, values in own.items()}
        return out

    def _worded(self, number: int, text: str) -> str:
        """Return a text in which the parameters of a family have the names that they have here."""
        return suffixed(text, self._plain[number].dims(), f"_{_word(self.names[number])}")


def _masses(name: str, part: Any) -> Array | float:
    """Return the weight of the cells that have a mass rather than a density in statistics of a family, (feature)."""
    if not CANDIDATES[name].has_masses:
        return 0.0
    counted = part.zeros.successes if isinstance(part, HurdleStatistics) else part.n
    return np.asarray(counted.sum(axis=0))


def _possible(name: str, X: Array) -> NDArray[np.bool_]:
    """Return which cells are observed and can be of a family, elementwise."""
    return CANDIDATES[name].possible(X) & ~np.isnan(X)


def _owners(coords: Mapping[str, Any], axis: str) -> list[str]:
    """Return the feature of each position along an axis."""
    names: list[str] = coords[f"{axis}_feature"][1] if f"{axis}_feature" in coords else coords[axis]
    return names


def _share(name: str) -> str:
    """Return the name of the parameter that is 1 where a feature is of a family."""
    return f"is_{_word(name)}"


def _word(name: str) -> str:
    """Return the name of a family as part of one of a parameter."""
    return re.sub(r"\W", "_", name).lower()
