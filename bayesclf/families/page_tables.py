"""The probabilities of categories as the page of PyMC has them: one variable for each column, `theta_<column>`.

The parameter θ of a family has the cells of all columns along one axis. More than `MOST_COLUMNS` columns that depend on
no other are one variable for each number of levels, as PyTensor compiles every variable.

NUTS samples the same tables, which observe counts and not rows: sampling costs the same for any number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.families import dirichlet
from bayesclf.wording import in_names

MOST_COLUMNS = 60
"""Columns above which those with the same number of levels share a variable."""


class PageVariable(NamedTuple):
    """A free variable of a PyMC model of rows that is not a parameter of its family, but follows from these.

    `name`: Its name in the model. `coords`: Names along those of its axes that are its own. `of`: Its values (draw, …)
    from the parameters.
    """

    name: str
    dims: tuple[str, ...]
    coords: Mapping[str, list[Any]]
    of: Callable[[Parameters], Array]


@dataclass(frozen=True)
class PageTable:
    """The probabilities of one column given others, or of many columns with the same number of levels.

    `columns`: Names: one, unless there are many columns. `places`: Their positions among the features. `levels`: Names
    of the levels of each axis of the columns on which it depends, and of its own, by the name of the axis. `cells`: Its
    cells along the axis of θ, in the order of `levels`. `given`: Names and positions of the columns on which it
    depends. `of_all`: Whether it is that of all classes. `wide`: Whether there are many columns. `suffix`: What is then
    added to names.
    """

    columns: tuple[str, ...]
    places: tuple[int, ...]
    levels: dict[str, list[Any]]
    cells: Integers
    given: tuple[tuple[str, int], ...] = ()
    of_all: bool = False
    wide: bool = False
    suffix: str = ""

    @property
    def name(self) -> str:
        """Name of its variable."""
        return f"theta_of_{self._size}{self.suffix}" if self.wide else f"theta_{in_names(self.columns[0])}"

    @property
    def dims(self) -> tuple[str, ...]:
        """Axis words of its variable."""
        return (*(() if self.of_all else ("outcome",)), *self.levels)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of its axes but that of the classes."""
        return tuple(len(names) for names in self.levels.values())

    @property
    def _size(self) -> int:
        return self.shape[-1]

    def of(self, theta: Array) -> Array:
        """Return its values (draw, …) from θ (draw, outcome, cell)."""
        own = theta[:, 0, self.cells] if self.of_all else theta[:, :, self.cells]
        return np.asarray(own.reshape(*own.shape[:-1], *self.shape))

    def variable(self) -> PageVariable:
        """Return its variable."""
        return PageVariable(self.name, self.dims, self.levels, lambda parameters: self.of(parameters["theta"]))

    def add(self, alpha: Any) -> Any:
        """Add its variable to the open PyMC model, given α (outcome, cell); return it."""
        from bayesclf import pymc_models

        labels = () if self.of_all else (alpha.shape[0],)
        own = (alpha[0] if self.of_all else alpha)[..., self.cells].reshape((*labels, *self.shape))
        if self.wide:
            return pymc_models.wide_categories(self.columns, self._size, own, self.suffix)
        return pymc_models.category(
            self.columns[0], list(self.levels.values())[-1], own, [name for name, _ in self.given], self.of_all
        )

    def observe(self, theta: Any, X: Integers, row: Any, found: Mapping[str, Any] | None = None) -> Any:
        """Observe its columns among codes (row, feature), given columns that were observed before; return one."""
        from bayesclf import pymc_models

        if self.wide:
            return pymc_models.wide_codes(self._size, theta, X[:, self.places], row, self.suffix)
        given = {name: (found or {})[name] for name, _ in self.given}
        return pymc_models.codes(self.columns[0], theta, X[:, self.places[0]], row, given, self.of_all)


def page_tables(
    columns: Sequence[str], levels: Sequence[Sequence[Any]], suffix: str, most_columns: int = MOST_COLUMNS
) -> list[PageTable]:
    """Return the tables of columns that depend on the class alone."""
    sizes = tuple(len(names) for names in levels)
    starts = dirichlet.starts(sizes)
    if len(columns) <= most_columns:
        return [
            PageTable((name,), (j,), {f"{in_names(name)}_level": list(levels[j])}, starts[j] + np.arange(sizes[j]))
            for j, name in enumerate(columns)
        ]
    tables = []
    for size in sorted(set(sizes)):
        places = tuple(np.flatnonzero(np.equal(sizes, size)).tolist())
        names = tuple(columns[j] for j in places)
        axes: dict[str, list[Any]] = {
            f"column_of_{size}{suffix}": list(names),
            f"level_of_{size}{suffix}": list(range(size)),
        }
        cells = np.flatnonzero(np.repeat(sizes, sizes) == size)
        tables.append(PageTable(names, places, axes, cells, wide=True, suffix=suffix))
    return tables


def theta_of(tables: Sequence[PageTable], draws: Mapping[str, Array], labels: int) -> Array:
    """Return θ (draw, outcome, cell) from draws of the variables of tables."""
    number = len(next(iter(draws.values())))
    theta = np.empty((number, labels, sum(prod(own.shape) for own in tables)))
    for own in tables:
        values = draws[own.name].reshape(number, 1 if own.of_all else labels, -1)
        theta[:, :, own.cells] = values
    return theta


def observe_counts(name: str, theta: Any, counts: Array) -> None:
    """Add the log likelihood of counts n of the cells of simplexes θ, (…, cell): Σ n log θ, with 0 · log 0 = 0."""
    import pymc as pm
    import pytensor.tensor as pt

    held = pm.Data(f"{name}_data", counts)
    # Where a count is 0 the logarithm is taken of 1, so that neither the value nor the gradient contains log 0.
    pm.Potential(name, (held * pt.log(pt.switch(pt.eq(held, 0), 1.0, theta))).sum())
