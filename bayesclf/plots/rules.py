"""Which rules of a model a figure shows."""

from __future__ import annotations

from collections.abc import Sequence

from bayesclf.comparison import Comparison
from bayesclf.errors import InputError


def chosen_rules(comparison: Comparison, model: str, rules: Sequence[str] | None) -> tuple[str, ...]:
    """Return the rules to draw: those asked for, or all that the model could answer under.

    Raises
    ------
    InputError
        For a model or rule that the comparison does not have, or where no rule could answer.
    """
    if model not in comparison.models:
        raise InputError(f"the comparison has no model {model!r}; its models are {', '.join(comparison.models)}")
    answered = comparison.rules_of(model)
    if not answered:
        raise InputError(f"{model!r} has no answers under any rule; the comparison's `table` has the reasons")
    if rules is None:
        return answered
    unknown = [rule for rule in rules if rule not in answered]
    if unknown:
        raise InputError(f"{model!r} has no answers under the rule {unknown[0]!r}; it has {', '.join(answered)}")
    return tuple(rules)
