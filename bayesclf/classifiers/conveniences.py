"""Methods of a classifier that reach upward in the package: each calls one function there, and holds no logic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from bayesclf.classifiers.base import BayesClassifier


class Conveniences:
    """What a fitted classifier offers beyond predictions."""

    def save(self: BayesClassifier, path: Any) -> None:  # type: ignore[misc]
        """Write the fitted classifier to one file that `bayesclf.load` reads and ArviZ can open."""
        from bayesclf.storage import save

        check_is_fitted(self, "classes_")
        save(self, path)
