"""The form of a check: a function of the context with a number and a title."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bayesclf.diagnostics.context import Context
from bayesclf.diagnostics.finding import Answer, Finding, NotApplicable, Skipped
from bayesclf.errors import DoesNotExist, Refused


@dataclass(frozen=True, eq=False)
class Check:
    """One numbered question about a fitted classifier; its docstring is that of the function that answers it.

    Attributes
    ----------
    code
        Number, such as "M03".
    title
        What is checked.
    applies_to
        The models or posteriors for which the question arises, in words.
    answer
        Returns what was found, or raises `NotApplicable` or `Skipped`.
    """

    code: str
    title: str
    applies_to: str
    answer: Callable[[Context], Answer]

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.answer.__doc__)

    def __call__(self, context: Context) -> Finding:
        """Return what was found, or why there was nothing to look for."""
        try:
            return Finding(self.code, self.title, *self.answer(context))
        except NotApplicable as reason:
            return Finding(self.code, self.title, "not applicable", "none", str(reason))
        except (Skipped, Refused, DoesNotExist) as reason:
            return Finding(self.code, self.title, "skipped", "none", str(reason))


def check(code: str, title: str, applies_to: str) -> Callable[[Callable[[Context], Answer]], Check]:
    """Return the decorator that makes a function the check of this number and title.

    What several checks need is computed once, by the context.
    """
    return lambda answer: Check(code, title, applies_to, answer)
