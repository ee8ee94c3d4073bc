"""What a user fits: scikit-learn classifiers on top of models, engines and rules."""

from bayesclf.classifiers.naive_bayes import CategoricalNB, GaussianNB, NaiveBayes

__all__ = ["CategoricalNB", "GaussianNB", "NaiveBayes"]
