"""The normal approximation of a posterior at its mode."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from bayesclf.typing import Array


@dataclass(frozen=True, eq=False)
class LaplaceApproximation:
    """The normal approximation N(centre, factor factorᵀ) at the posterior mode of logistic regression.

    Attributes
    ----------
    centre
        The mode: intercept, then weight raveled, the free values of the PyMC model in its order.
    factor
        Lower triangular root of the inverse of minus the log posterior's Hessian.
    """

    centre: Array
    factor: Array

    @classmethod
    def at(cls, mode: Array, curvature: Array, scale: Array) -> LaplaceApproximation:
        """Find it from the mode and minus the Hessian there.

        The Hessian is factored with the weights per sd of a column and the factor scaled then, so that units cost no
        digits.

        Parameters
        ----------
        mode
            θ (outcome, 1 + column), weights per sd of a column.
        curvature
            Minus the Hessian of the log posterior, of θ raveled.
        scale
            The columns' sds (column).
        """
        positions = np.arange(mode.size).reshape(mode.shape)
        order = np.concatenate([positions[:, 0], positions[:, 1:].ravel()])
        unit = np.concatenate([np.ones(len(mode)), np.tile(scale, len(mode))])
        # H = U Uᵀ with U upper triangular, from the Cholesky factor of H in reverse order; then H⁻¹ = U⁻ᵀ U⁻¹.
        reverse = order[::-1]
        upper = np.linalg.cholesky(curvature[np.ix_(reverse, reverse)])[::-1, ::-1]
        factor = linalg.solve_triangular(upper, np.eye(mode.size), lower=False, trans="T")
        return cls(mode.ravel()[order] / unit, factor / unit[:, None])
