"""Methods of a classifier that reach upward in the package: each calls one function there, and holds no logic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    import xarray as xr
    from arviz_stats import ELPDData

    from bayesclf.classifiers.base import BayesClassifier
    from bayesclf.decisions import PredictionSets
    from bayesclf.diagnostics import Diagnosis
    from bayesclf.explanation import Explanation
    from bayesclf.rules import Gibbs


class Conveniences:
    """What a fitted classifier offers beyond predictions."""

    def diagnose(  # type: ignore[misc]
        self: BayesClassifier,
        X: Any = None,
        y: Any = None,
        *,
        new: Any = None,
        against: BayesClassifier | None = None,
        checks: Sequence[str] | None = None,
    ) -> Diagnosis:
        """Check the posterior, the model and its predictions; each finding has its numbers, a reason and a next step.

        Parameters
        ----------
        X, y
            The training rows: a fit keeps its statistics only, and checks that need rows are skipped without them.
        new
            Rows to be predicted, to see how far they are from the training rows.
        against
            A classifier, fitted or not, whose confidence is compared; by default `LogisticRegression` for a generative
            model with dependent columns.
        checks
            Codes to run, such as ``["P", "M03"]``; a letter stands for its section. All by default.

        Examples
        --------
        >>> import bayesclf as bc
        >>> X, y = [[1.0], [1.2], [3.1], [2.9]], ["low", "low", "high", "high"]
        >>> print(bc.GaussianNB(random_state=1).fit(X, y).diagnose(checks=["P01", "P04", "Y02"]))
        GaussianNB: 0 issues, 0 tips, 1 passed, 1 not applicable, 1 skipped
        <BLANKLINE>
        Passed
          P04 Monte Carlo error of posterior means: at most 0.032 posterior sds (limit 0.1)
        <BLANKLINE>
        Not applicable
          P01: independent draws from the closed-form posterior
        <BLANKLINE>
        Skipped
          Y02: give the training rows, clf.diagnose(X, y)
        """
        from bayesclf.diagnostics import diagnose

        check_is_fitted(self, "classes_")
        return diagnose(self, X, y, new=new, against=against, checks=checks)

    def loo(  # type: ignore[misc]
        self: BayesClassifier, X: Any, y: Any, rule: str | Gibbs = "bayes-optimal", method: str = "auto"
    ) -> ELPDData:
        """Return the leave-one-out log scores of P(y | x) under a rule, as ArviZ holds them.

        Parameters
        ----------
        X, y
            The rows that the classifier was fitted on, in any order, a row of weight w as w rows.
        rule
            A rule other than ``"gibbs"``.
        method
            ``"psis"``, ``"exact"``, or ``"auto"``, which is exact where that is in closed form or needed, as
            `bayesclf.loo` says.

        Examples
        --------
        >>> import bayesclf as bc
        >>> X, y = [[1.0], [1.2], [3.1], [2.9]], ["low", "low", "high", "high"]
        >>> bc.GaussianNB(random_state=1).fit(X, y).loo(X, y, rule="predictive").elpd_i.values.round(2)
        array([-0.18, -0.2 , -0.18, -0.2 ])
        """
        from bayesclf.leave_one_out import loo

        return loo(self, X, y, rule, method)

    def predict_set(  # type: ignore[misc]
        self: BayesClassifier,
        X: Any,
        level: float = 0.9,
        rule: str | Gibbs | None = None,
        class_prior: Any = None,
    ) -> PredictionSets:
        """Return for each row the smallest set of classes whose probability is at least the level.

        Such a set has the true class as often as its probability says only where the model is right: it promises no
        coverage. `bayesclf.SplitConformal` does.

        Parameters
        ----------
        X
            Table (row, feature).
        level
            Least probability of a set, in (0, 1).
        rule, class_prior
            As in `predict`.

        Examples
        --------
        >>> import bayesclf as bc
        >>> X, y = [[1.0], [1.2], [3.1], [2.9]], ["low", "low", "high", "high"]
        >>> bc.GaussianNB(random_state=1).fit(X, y).predict_set([[1.1], [2.0]], level=0.8).labels
        (('low',), ('high', 'low'))
        """
        from bayesclf.decisions import posterior_sets

        return posterior_sets(self.predict_log_proba(X, rule, class_prior), self.classes_, level)

    def predictive_check(  # type: ignore[misc]
        self: BayesClassifier, X: Any, y: Any, draws: int = 200, random_state: Any = None, prior: bool = True
    ) -> xr.DataTree:
        """Replicate labelled rows under prior and posterior, and compare them with the rows that were seen.

        Parameters
        ----------
        X, y
            Training rows.
        draws
            Replicated data sets.
        random_state
            Seed; that of the fit where None.
        prior
            Whether to replicate data under the prior too.

        Returns
        -------
        DataTree
            Replicated and observed labels and statistics with their p-values, as `bayesclf.predictive_checks` says.

        Examples
        --------
        >>> import bayesclf as bc
        >>> X, y = [[1.0], [1.2], [3.1], [2.9]], ["low", "low", "high", "high"]
        >>> tree = bc.GaussianNB(random_state=1).fit(X, y).predictive_check(X, y)
        >>> sorted(tree["observed_statistics"].data_vars)
        ['class_count', 'class_count_given_x', 'max', 'mean', 'sd']
        """
        from bayesclf.predictive_checks import predictive_check

        check_is_fitted(self, "classes_")
        return predictive_check(self, X, y, draws, random_state, prior)

    def report(self: BayesClassifier, path: Any, X: Any = None, y: Any = None) -> None:  # type: ignore[misc]
        """Write the self-contained HTML report: checks, posterior, and with the training rows `X`, `y` predictions."""
        from bayesclf.report import write_classifier

        check_is_fitted(self, "classes_")
        write_classifier(self, path, X, y)

    def save(self: BayesClassifier, path: Any) -> None:  # type: ignore[misc]
        """Write the fitted classifier to one file that `bayesclf.load` reads and ArviZ can open."""
        from bayesclf.storage import save

        check_is_fitted(self, "classes_")
        save(self, path)

    def explain(  # type: ignore[misc]
        self: BayesClassifier,
        X: Any,
        outcome: Any = None,
        against: Any = None,
        ci_prob: float = 0.89,
        rule: str | None = None,
    ) -> Explanation:
        """Take the log-odds between two classes apart, feature by feature.

        Parameters
        ----------
        X
            Table (row, feature).
        outcome, against
            The two classes: a label, or one a row. By default the second of two classes against the first, or the most
            probable of more against the next.
        ci_prob
            Posterior probability of the intervals, in (0, 1).
        rule
            ``"mle"``, ``"map"``, ``"mean"`` or ``"bayes-optimal"``; by default the classifier's own.

        Returns
        -------
        Explanation
            Its `table` shows one row's; see `bayesclf.explanation` for what the numbers mean.

        Examples
        --------
        >>> import bayesclf as bc
        >>> X, y = [["sunny"], ["rain"], ["rain"], ["sunny"], ["rain"]], ["no", "yes", "yes", "no", "no"]
        >>> clf = bc.CategoricalNB(inference="map").fit(X, y)
        >>> print(clf.explain([["sunny"]]).table().round(2).to_string(index=False))
                           feature value  contribution
                                x0 sunny         -0.88
                     (class prior)  None         -0.41
        log-odds of yes against no  None         -1.28
        """
        from bayesclf.explanation import explain

        return explain(self, X, outcome, against, ci_prob, rule)
