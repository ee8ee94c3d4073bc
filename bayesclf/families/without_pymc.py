"""Families that average over something discrete in closed form, of which NUTS has nothing to sample."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from bayesclf.errors import Refused


class WithoutPyMC:
    """A family without a PyMC model: NUTS has no discrete parameters, and the sum over them is in closed form."""

    _no_pymc: ClassVar[str]
    """Why there is none, and what to take."""

    def pymc(self, statistics: Any, suffix: str) -> NoReturn:
        """Refuse, and say why."""
        raise Refused(self._no_pymc)

    def pymc_rows(self, X: Any, rows: Any, statistics: Any, suffix: str) -> NoReturn:
        """Refuse, as `pymc` does."""
        raise Refused(self._no_pymc)

    def from_pymc(self, draws: Any, suffix: str) -> NoReturn:
        """Refuse, as `pymc` does."""
        raise Refused(self._no_pymc)
