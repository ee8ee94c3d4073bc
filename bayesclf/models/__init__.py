"""What an engine conditions on data: generative models, and logistic regression, by what engines ask of both.

A *model* composes families (`generative.py`) or is P(y | x) itself (`logistic/`). Parameters are plain arrays with a
leading draw axis. So a point estimate is a posterior of one hypothesis, and every rule treats both in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.tables.columns import Rows

if TYPE_CHECKING:
    import pymc as pm

    from bayesclf.models.generative import Block

__all__ = ["Model"]


class Model(Protocol):
    """A classifier's model with the statistics, or the data, that it was conditioned on.

    `generative`: Whether it has a p(x | y), so that a new x is itself evidence about θ.
    """

    generative: ClassVar[bool]

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the label axis."""

    @property
    def label_counts(self) -> Array:
        """Weight of the training rows of each label (outcome)."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Columns that are modeled together given the class; none where the model is P(y | x) itself."""

    def level_counts(self) -> list[tuple[str, float]]:
        """Return each level as "column=level", and the weight of its training rows."""

    def constant_features(self) -> list[str]:
        """Return the columns in use that have one value only, or none."""

    def mle(self) -> Parameters:
        """Return the maximum likelihood estimate (draw axis of length 1), or raise `DoesNotExist`."""

    def map(self) -> Parameters:
        """Return the posterior mode (draw axis of length 1), or raise `DoesNotExist`."""

    def pymc(self) -> pm.Model:
        """Return the PyMC model whose posterior NUTS samples."""

    def page(self, rows: Rows, y: Integers) -> pm.Model:
        """Return the PyMC model of `bayesclf.pymc_models` of the same prior over rows with label codes `y` (row)."""

    def from_pymc(self, draws: Mapping[str, Array]) -> Parameters:
        """Return the parameters from draws (draw, ...) of the free variables of `pymc` or `page`."""

    def log_scores(self, rows: Rows, parameters: Parameters) -> Array:
        """Return log P(y | x, θ) up to a constant of each draw and row, (draw, row, outcome).

        For a generative model it is log p(x, y | θ) itself.
        """

    def linear_odds(self, parameters: Parameters) -> Any:
        """Return the log-odds as what is linear in columns of the rows, a `LinearScores`; None where they are not."""

    def not_conjugate(self) -> str:
        """Return why the posterior has no closed form, as a clause; empty where it has one."""

    def not_augmentable(self) -> str:
        """Return why data augmentation cannot sample the posterior, likewise."""

    def improper(self) -> str:
        """Return why the posterior is improper; empty where it is not."""

    def log_prior(self, parameters: Parameters) -> dict[str, Array]:
        """Return the log density (draw) of each independent part of the prior, up to constants; or raise `Refused`."""

    def log_class_prior(self, parameters: Parameters) -> Array:
        """Return log P(y | θ), shape (draw, outcome): the answer where x is impossible under every class."""

    def log_predictive(self, rows: Rows) -> Array | None:
        """Return log p(x, y | D), shape (row, outcome), in closed form; None where there is none."""

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of each parameter, the draw axis left out."""

    def shown(self, parameters: Parameters) -> Parameters:
        """Return parameters as the PyMC model has them."""

    def shown_dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of what `shown` returns."""

    def shown_coords(self) -> dict[str, Any]:
        """Return the coordinates of its axes."""

    def coords(self) -> dict[str, Any]:
        """Return the coordinates of the axes in `dims`."""
