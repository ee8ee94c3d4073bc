"""The errors of bayesclf: each message is one sentence that says what is wrong, where, and what to do."""

import os
import warnings
from numbers import Real
from typing import Any


class InputError(ValueError):
    """Data, a file or an option that cannot be used as given."""


class CellTypeError(InputError, TypeError):
    """A cell that is neither a number nor a string nor another plain value."""


class DoesNotExist(ValueError):
    """An estimate that the data do not define, for example the variance of one row by maximum likelihood."""


class Refused(ValueError):
    """A question that this model, engine or rule cannot answer honestly; the message says why."""


class ConvergenceWarning(UserWarning):
    """The draws of a posterior cannot be trusted yet."""


class PredictionWarning(UserWarning):
    """Predictions were made, but some rows deserve a second look."""


def is_number(value: object) -> bool:
    """Return whether a value is one real number, of Python or NumPy."""
    return isinstance(value, Real)


def check_between(name: str, value: Any, low: float = 0, high: float = 1) -> None:
    """Raise `InputError` for an option that is not a number between two bounds, these excluded."""
    if not is_number(value) or not low < value < high:
        raise InputError(f"{name} must lie between {low} and {high}, not {value!r}")


def warn(message: str, category: type[Warning]) -> None:
    """Warn, pointing at the line of user code that called into the package."""
    warnings.warn(message, category, skip_file_prefixes=(os.path.dirname(__file__),))
