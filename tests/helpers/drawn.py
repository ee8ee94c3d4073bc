"""What a figure shows, read back from it."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

HOSTILE = ("$x$", "<script>", "w" * 200)
"""Names of columns, classes and models that must stay names."""


def texts(figure: Figure) -> list[str]:
    """Return all texts of a figure, as they are read, after drawing it."""
    figure.draw_without_rendering()
    return [text.get_text().replace(r"\$", "$") for text in figure.findobj(plt.Text) if text.get_text()]


def line(ax, label):
    """Return the only line of that label, (point, 2)."""
    (found,) = [line for line in ax.lines if line.get_label() == label]
    return found.get_xydata()


def of_color(artists, color):
    """Return the artists of a colour."""
    return [artist for artist in artists if np.allclose(to_rgba(artist.get_color()), to_rgba(color))]
