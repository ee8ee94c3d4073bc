"""Odd arguments of everything public: an answer, or one sentence of our own."""

import inspect
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from helpers.fuzz import answer

import bayesclf as bc
from bayesclf.classifiers import CLASSIFIERS

LABELS = np.array(["a", "b"] * 10)
NUMBERS = pd.DataFrame({"u": np.arange(20) % 7 / 7, "v": np.arange(20) % 3 / 3})
ODD = [None, "", "x", -1, 0, 2.5, np.nan, True, [], ["x"], [[]], {}, {"x": 1}, object(), pd.DataFrame(), np.eye(3), 1j]
CLF = bc.GaussianNB(inference=bc.engines.Exact(draws=25), random_state=1).fit(NUMBERS, LABELS)
LR = bc.LogisticRegression(prior_scale=2.5, inference=bc.engines.Laplace(draws=25), random_state=1).fit(NUMBERS, LABELS)
