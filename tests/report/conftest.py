"""Pages whose words alone are compared."""

import matplotlib.pyplot as plt
import pytest
from markupsafe import Markup

from bayesclf.report import figures


@pytest.fixture
def unwritten_figures(monkeypatch):
    """Draw figures, but leave out writing them to SVG, which takes most of a page's time, where words are compared."""

    def drawn_only(draw, name, title, description):
        plt.close(draw())
        return Markup('<svg id="{}"></svg>').format(name)

    monkeypatch.setattr(figures, "svg", drawn_only)
