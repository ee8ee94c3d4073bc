"""What a user fits: scikit-learn classifiers on top of models, engines and rules."""

from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.logistic import LogisticRegression
from bayesclf.classifiers.naive_bayes import CategoricalNB, GaussianNB, NaiveBayes

CLASSIFIERS: dict[str, type[BayesClassifier]] = {
    "nb": NaiveBayes,
    "gnb": GaussianNB,
    "categorical": CategoricalNB,
    "lr": LogisticRegression,
}
"""Classifiers by the short names of the command line. A classifier without an entry cannot be saved or compared."""

__all__ = ["CLASSIFIERS", "BayesClassifier", "CategoricalNB", "GaussianNB", "LogisticRegression", "NaiveBayes"]
