"""scikit-learn's base of estimators, for classifiers some of whose attributes are computed on first use."""

from __future__ import annotations

from functools import cached_property
from types import SimpleNamespace
from typing import Any

from sklearn.base import BaseEstimator

NO_PAGE = "#"
"""Address of a page of documentation where there is none: without an address scikit-learn leaves the docstrings out."""


class Estimator(BaseEstimator):  # type: ignore[misc]
    """An estimator whose cached properties are computed on explicit access only.

    scikit-learn's display of a fitted estimator, and its ``dir``, read every attribute. That would build the PyMC model
    and the posterior's data sets, which takes seconds, can be refused, and leaves objects that cannot be pickled.
    """

    def __dir__(self) -> list[str]:
        # not BaseEstimator's, which looks each attribute up
        return list(object.__dir__(self))

    def __getstate__(self) -> dict[str, Any]:
        computed = {name for cls in type(self).__mro__ for name, value in vars(cls).items() if _is_cached(value)}
        return {name: value for name, value in super().__getstate__().items() if name not in computed}

    def _get_params_html(self, deep: bool = True, doc_link: str | None = None) -> Any:
        """Return what a notebook shows of the parameters, each with its part of the docstring."""
        if doc_link is None:  # scikit-learn 1.7 has no such parameter
            return super()._get_params_html(deep)
        return super()._get_params_html(deep, doc_link or NO_PAGE)

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """Return what a notebook shows of the fitted attributes: those that `fit` has set."""
        fitted = SimpleNamespace(**self.__getstate__())
        shown = BaseEstimator._get_fitted_attr_html(fitted, doc_link or NO_PAGE)  # noqa: SLF001 - scikit-learn has no public hook
        shown.estimator_class = type(self)
        return shown


def _is_cached(value: object) -> bool:
    return isinstance(value, cached_property)
