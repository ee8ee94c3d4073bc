"""How good predictions are: scores, cross-validation, comparisons, leave-one-out and predictive checks."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submod_attrs={"cross_validation": ["Evaluation", "evaluate", "fit", "score_rules"]}
)
