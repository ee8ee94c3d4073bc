"""Leave-one-out: how well each training row's label is predicted from all the others."""

from bayesclf.evaluation.leave_one_out.elpd import compare_elpd, loo, scored
from bayesclf.evaluation.leave_one_out.weights import stacking_weights

__all__ = ["compare_elpd", "loo", "scored", "stacking_weights"]
