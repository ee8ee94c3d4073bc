"""Names of `bayesclf.wording` as the experiments call them."""

from bayesclf.wording import NEGLIGIBLE, number, pair, percent
from bayesclf.wording import counted as count
from bayesclf.wording import joined as listed

__all__ = ["NEGLIGIBLE", "count", "listed", "number", "pair", "percent"]
