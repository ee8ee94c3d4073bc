"""How many examples an estimated probability needs: a part of the experiment of that name."""

from bayesclf.experiments.sample_size import HALF_WIDTHS, examples_needed

__all__ = ["HALF_WIDTHS", "examples_needed"]
