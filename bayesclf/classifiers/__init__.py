"""What a user fits: scikit-learn classifiers on top of models, engines and rules."""

from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.joint import BayesNetClassifier, GaussianDiscriminantAnalysis, JointBayes
from bayesclf.classifiers.logistic import LogisticRegression
from bayesclf.classifiers.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, NaiveBayes
from bayesclf.classifiers.text import TextNB

CLASSIFIERS: dict[str, type[BayesClassifier]] = {
    "nb": NaiveBayes,
    "gnb": GaussianNB,
    "categorical": CategoricalNB,
    "bernoulli": BernoulliNB,
    "multinomial": MultinomialNB,
    "text": TextNB,
    "gda": GaussianDiscriminantAnalysis,
    "tan": BayesNetClassifier,
    "joint": JointBayes,
    "lr": LogisticRegression,
}
"""Classifiers by the short names of the command line. A classifier without an entry cannot be saved or compared."""

__all__ = [
    "CLASSIFIERS",
    "BayesClassifier",
    "BayesNetClassifier",
    "BernoulliNB",
    "CategoricalNB",
    "GaussianDiscriminantAnalysis",
    "GaussianNB",
    "JointBayes",
    "LogisticRegression",
    "MultinomialNB",
    "NaiveBayes",
    "TextNB",
]
