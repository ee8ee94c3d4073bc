"""Draw the README's picture: one posterior, and what three rules make of it.

Run from the project's folder: .venv/bin/python docs/three_rules.py
"""

from pathlib import Path

import matplotlib as mpl
import pandas as pd

import bayesclf as bc

mpl.rcParams.update({"svg.hashsalt": "bayesclf", "figure.figsize": (8, 4.2)})
X = pd.DataFrame({"x": [0.4, 1.2, 1.9, 3.4, 2.7, 3.9, 4.6, 6.4]})
y = ["no"] * 4 + ["yes"] * 4
clf = bc.GaussianNB(random_state=3).fit(X, y)
figure = bc.plots.rules_along(clf, X, y)
figure.savefig(Path(__file__).parent / "three_rules.svg", metadata={"Date": None}, bbox_inches="tight")
