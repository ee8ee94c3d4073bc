"""Draw the README's picture: one posterior, and what the three rules make of it.

Run from the project's folder: .venv/bin/python docs/three_rules.py
"""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

import bayesclf as bc
from bayesclf.posterior import averaging

HYPOTHESES = 40


def main() -> None:
    """Fit eight points and write docs/three_rules.svg."""
    x = np.array([0.4, 1.2, 1.9, 3.4, 2.7, 3.9, 4.6, 6.4])
    y = np.repeat(["no", "yes"], 4)
    clf = bc.GaussianNB(random_state=3).fit(x[:, None], y)
    grid = np.linspace(-3.5, 9.5, 200)
    rows = clf.rows(grid[:, None])
    posterior = clf.hypotheses("posterior")
    drawn = np.linspace(0, len(posterior) - 1, HYPOTHESES).astype(int)
    lines = np.exp(averaging.conditional(posterior.take(drawn), rows).log_proba[:, 1])

    mpl.rcParams.update({"svg.hashsalt": "bayesclf", "font.size": 11, "font.family": "sans-serif"})
    figure, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
    ax.plot(grid, lines[:, 0], color="0.72", lw=0.7, label="Gibbs: ask one hypothesis drawn from the posterior")
    ax.plot(grid, lines[:, 1:], color="0.72", lw=0.7)
    for rule, style, label in (
        ("map", {"color": "#c1440e", "ls": "--"}, "MAP: ask the most probable hypothesis"),
        ("bayes-optimal", {"color": "#1f4e9c", "ls": "-"}, "Bayes-optimal: average over all of them"),
    ):
        ax.plot(grid, clf.predict_proba(grid[:, None], rule=rule)[:, 1], lw=2.6, label=label, **style)
    ax.plot(x[y == "no"], np.zeros(4), "o", color="0.2", ms=6, clip_on=False)
    ax.plot(x[y == "yes"], np.ones(4), "o", color="0.2", ms=6, clip_on=False)
    ax.set(xlabel="x", ylabel="P(yes | x)", ylim=(0, 1), xlim=(grid[0], grid[-1]))
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, loc="outside upper left", fontsize=10)
    figure.savefig(Path(__file__).parent / "three_rules.svg", metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
