"""The errors of bayesclf: each message is one sentence that says what is wrong, where, and what to do."""

import os
import warnings
from collections.abc import Callable
from functools import wraps

from bayesclf.wording import printable

__all__ = [
    *("AttributeDoesNotExist", "CellTypeError", "DoesNotExist", "InputError", "Refused", "RefusedAttribute"),
    *("Sentence", "Stopped", "ConvergenceWarning", "PredictionWarning"),
]


class Sentence(Exception):
    """An error whose message is fit to print, whatever names and cells of the user's it quotes."""

    def __str__(self) -> str:
        return printable(super().__str__())


class InputError(Sentence, ValueError):
    """Data, a file or an option that cannot be used as given."""


class CellTypeError(InputError, TypeError):
    """A cell that is neither a number nor a string nor another plain value."""


class Stopped(InputError):
    """Work that could not go on for a reason outside of it: a full disk, or processes that were ended."""


class DoesNotExist(Sentence, ValueError):
    """An estimate that the data do not define, for example the variance of one row by maximum likelihood."""


class Refused(Sentence, ValueError):
    """A question that this model, engine or rule cannot answer honestly; the message says why."""


class RefusedAttribute(Refused, AttributeError):
    """A `Refused` attribute, which is absent for ``hasattr`` and for ``getattr`` with a default."""


class AttributeDoesNotExist(DoesNotExist, AttributeError):
    """An attribute that `DoesNotExist`, which is absent for ``hasattr`` and for ``getattr`` with a default."""


class ConvergenceWarning(UserWarning):
    """The draws of a posterior cannot be trusted yet."""


class PredictionWarning(UserWarning):
    """Predictions were made, but some rows deserve a second look."""


def may_be_absent[**P, T](attribute: Callable[P, T]) -> Callable[P, T]:
    """Let the function of a property raise an `AttributeError`, with the same message, where it refuses.

    Python's ``hasattr`` and ``getattr`` with a default expect that of an attribute that an object lacks, and so do
    scikit-learn, IPython's completion and ``inspect.getmembers``.

    Examples
    --------
    >>> class Answer:
    ...     @property
    ...     @may_be_absent
    ...     def weight_(self):
    ...         raise Refused("its log-odds are not linear")
    >>> hasattr(Answer(), "weight_")
    False
    """

    @wraps(attribute)
    def computed(*args: P.args, **kwargs: P.kwargs) -> T:
        """Return the attribute; a reason for its absence is raised as an `AttributeError` too."""
        try:
            return attribute(*args, **kwargs)
        except Refused as reason:
            raise RefusedAttribute(str(reason)) from reason
        except DoesNotExist as reason:
            raise AttributeDoesNotExist(str(reason)) from reason

    return computed


def warn(message: str, category: type[Warning]) -> None:
    """Warn, pointing at the line of user code that called into the package."""
    warnings.warn(printable(message), category, skip_file_prefixes=(os.path.dirname(__file__),))
