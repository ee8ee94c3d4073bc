"""What all classifiers give in addition to answers: posterior, PyMC model, checks, explanations, reports, files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayesclf.classifiers.answers import LogLikelihood
from bayesclf.classifiers.labels import checked_labels
from bayesclf.classifiers.predictor import CI_PROB, Predictor
from bayesclf.classifiers.training import weighted
from bayesclf.constraints import Instance, require
from bayesclf.errors import DoesNotExist, Refused, may_be_absent
from bayesclf.posterior import averaging
from bayesclf.posterior.hypotheses import Hypotheses, named_draws, to_constants, to_dataset
from bayesclf.progress import Progress
from bayesclf.rules import Gibbs
from bayesclf.typing import Parameters

if TYPE_CHECKING:
    import pandas as pd
    import pymc as pm
    import xarray as xr
    from arviz_stats import ELPDData

    from bayesclf.decisions import PredictionSets
    from bayesclf.diagnostics import Diagnosis
    from bayesclf.interpretation.explanation import Explanation


NO_PARAMETER = "the model has none, as no column is informative and the class prior is known"
"""What a posterior without a parameter says of itself."""


class BayesClassifier(Predictor):
    """What a fitted model gives beyond answers: its posterior, its PyMC model, checks, explanations, reports, files.

    Attributes
    ----------
    posterior_ : xarray.DataTree
        The draws and the point estimates, as ArviZ reads them.
    pymc_model_ : pymc.Model
        The PyMC model of prior and data.
    """

    def log_likelihood(self, X: Any, y: Any) -> LogLikelihood:
        """Return the log likelihoods of labeled rows under each draw of the posterior."""
        rows = self.rows(X)
        codes = self.known_codes(checked_labels(y, len(rows)))
        hypotheses = self.hypotheses("posterior")
        conditional, joint = [], []
        for block in averaging.blocks(hypotheses, rows):
            answer = averaging.conditional(hypotheses, rows[block])
            own = answer.log_proba[np.arange(len(answer.log_proba)), codes[block]]
            conditional.append(own.T)
            joint.append((own + answer.log_x).T)
        return LogLikelihood(
            np.concatenate(joint, axis=1) if hypotheses.generative else None, np.concatenate(conditional, axis=1)
        )

    @cached_property
    @may_be_absent
    def posterior_(self) -> xr.DataTree:
        """The hypotheses as an `xarray.DataTree`: `posterior`, `sample_stats`, `map`, `mle`, as far as they exist."""
        import xarray as xr

        check_is_fitted(self, "classes_")
        dims, coords = self.model_.dims(), self.model_.coords()
        groups: dict[str, xr.Dataset] = {}
        if self.draws_ is not None:
            groups["posterior"] = self.posterior_draws()
            if self.draws_.stats is not None:
                groups["sample_stats"] = self.draws_.stats
        for name in ("map", "mle"):
            try:
                groups[name] = to_dataset(self._shown(self._point(name)), dims, coords)
            except DoesNotExist as reason:
                groups[name] = xr.Dataset(attrs={"does_not_exist": str(reason)})
        constants = to_constants(coords)
        if constants:
            groups["constant_data"] = constants
        return xr.DataTree.from_dict(groups)

    def posterior_draws(self) -> xr.Dataset:
        """Return the group `posterior` of `posterior_` alone: the draws in memory, and a sentence about the others.

        Unlike `posterior_` it computes no point estimates, which can take a while.
        """
        if self.draws_ is None:
            raise Refused(f"a fit by {type(self.inference_).__name__} is a point estimate and has no draws")
        dims, coords = self.model_.dims(), self.model_.coords()
        parameters = self._shown(self.draws_.parameters)
        held = {name: axes for name, axes in dims.items() if name in parameters}
        dataset = to_dataset(parameters, held, coords, self.draws_.chains)
        if not dims:
            dataset.attrs["not_held"] = NO_PARAMETER
        elif len(held) < len(dims):
            dataset.attrs["not_held"] = (
                f"{len(self.draws_.seeded or ())} draws of {', '.join(sorted(set(dims) - set(held)))} are too large to "
                "keep in memory; they are made from a seed when predictions need them, and `posterior_of` returns "
                "those of some features"
            )
        return dataset

    def posterior_of(self, features: Sequence[str]) -> xr.Dataset:
        """Return the draws of the parameters of some features, (chain, draw, …), where `posterior_` holds none.

        Parameters
        ----------
        features : sequence of str
            Features, words, or levels such as "outlook=sunny".
        """
        hypotheses = self.hypotheses("posterior")
        require(Instance(Iterable), features=features)
        if isinstance(hypotheses, Hypotheses):
            hypotheses = replace(hypotheses, parameters=self._shown(hypotheses.parameters))
        assert self.draws_ is not None
        return named_draws(hypotheses, features, self.draws_.chains)

    def _shown(self, parameters: Parameters) -> Parameters:
        """Return parameters (draw, …) as the PyMC model has them."""
        return parameters

    @cached_property
    @may_be_absent
    def pymc_model_(self) -> pm.Model:
        """The PyMC model of prior and data that NUTS samples: to look at, draw as a graph and generate data from.

        For a generative model the data are sufficient statistics, so that a million rows cost what a thousand do: it
        generates statistics, given the number of rows of each class and their missing cells, and
        `pymc.compute_log_likelihood` is of statistics too, of no use to `arviz.loo`. `to_pymc` observes the rows.
        """
        check_is_fitted(self, "classes_")
        return self.model_.pymc()

    def to_pymc(self, X: Any, y: Any, sample_weight: Any = None) -> pm.Model:
        """Return the PyMC model of the same prior over the rows themselves, to extend in PyMC.

        The label ``y`` of a row is a variable, y ~ Categorical(π), and its cells are variables whose parameters ``y``
        picks, so that both generate, and each can be replaced. Its log density is that of `pymc_model_` for the
        training rows; `pymc.compute_log_likelihood` is by row. A missing cell is 0 in the data and in what is drawn,
        and adds nothing. Where α is learned, θ is a variable here, while `pymc_model_` has integrated it out.

        Parameters
        ----------
        X, y
            Labeled rows, usually those of the fit; priors are those of the fit.
        sample_weight : array of shape (row,) or None
            How often each row counts, (row); rows of weight 0 are left out.

        Raises
        ------
        Refused
            Where PyMC has no such model: `select=True`, or a table too large for its rows to be dense.
        """
        table = self.frame(X)
        frame, codes, weight = weighted(table, self.known_codes(checked_labels(y, len(table))), sample_weight)
        return self.model_.pymc_rows(self.encode(frame), codes, np.ones(len(codes)) if weight is None else weight)

    def with_posterior(self, idata: Any, point: Any = None) -> Self:
        """Return a copy of the fitted classifier that answers from given draws, such as those of `pymc.sample`.

        Parameters and errors are those of `bayesclf.classifiers.given.with_posterior`.
        """
        from bayesclf.classifiers.given import with_posterior

        return with_posterior(self, idata, point)

    def diagnose(
        self,
        X: Any = None,
        y: Any = None,
        *,
        new: Any = None,
        against: BayesClassifier | None = None,
        checks: Sequence[str] | None = None,
        progress: Progress = None,
    ) -> Diagnosis:
        """Check the posterior, the model and its predictions; parameters are those of `bayesclf.diagnostics.diagnose`.

        `X` and `y` are the training rows: a fit keeps its statistics only, and without rows some checks are skipped.
        """
        from bayesclf.diagnostics import diagnose

        check_is_fitted(self, "classes_")
        return diagnose(self, X, y, new=new, against=against, checks=checks, progress=progress)

    def loo(
        self,
        X: Any,
        y: Any,
        rule: str | Gibbs = "bayes-optimal",
        method: str = "auto",
        progress: Progress = None,
    ) -> ELPDData:
        """Return the leave-one-out log scores of the training rows; parameters are those of `bayesclf.loo`."""
        from bayesclf.evaluation.leave_one_out import loo

        return loo(self, X, y, rule, method, progress)

    def predict_frame(
        self,
        X: Any,
        rule: str | Gibbs | None = None,
        interval: float | None = CI_PROB,
        sets: float | None = 0.9,
        uncertainty: bool = True,
    ) -> Any:
        """Return predictions as a table: label, probabilities, intervals, prediction sets and entropies.

        Parameters
        ----------
        X : table or array of shape (row, feature)
            Table (row, feature).
        rule : str, Gibbs or None
            As in `predict`.
        interval : float or None
            Posterior probability of the intervals of P(k | x), as in `predict_interval`; None or False leaves them out.
        sets : float or None
            Least probability of the sets, as in `predict_set`; None or False leaves them out.
        uncertainty : bool
            Whether to add the entropies of `uncertainty`.

        Returns
        -------
        DataFrame
            Per row: `predicted`; ``P(k)`` of each class k; ``in_set_0.9(k)``, whether k is in the row's set;
            ``P_low_0.89(k)`` and ``P_high_0.89(k)``; `entropy_total_nats`, `entropy_aleatoric_nats` and
            `entropy_epistemic_nats`. A pandas table on the index of `X`; for a table of another library, such as
            Polars, one of that library. A point fit has neither intervals nor entropies, and `attrs` of a pandas table
            says so.
        """
        from bayesclf.interpretation.predictions import predict_frame

        return predict_frame(self, X, rule, interval, sets, uncertainty)

    def predict_stream(
        self,
        source: Any,
        output: Any,
        *,
        rule: str | None = None,
        cost: Any = None,
        reject: float | None = None,
        class_prior: Any = None,
        interval: float | None = None,
        sets: float | None = None,
        uncertainty: bool = False,
        missing: Mapping[str, Sequence[object]] | None = None,
        resume: bool = False,
        progress: Progress = None,
    ) -> int:
        """Write predictions for a table that is read batch by batch, and return the number of rows.

        Memory is that of a batch. The file is complete in the end, or as it was before. In a folder each part is, and
        an interrupted call can be resumed: the parts are then, to the last bit, those of one that was not interrupted.

        Parameters
        ----------
        source : path, glob, table or iterable of tables
            A file, folder, glob, lazy table or iterable of tables, as `fit_stream` of generative classifiers takes it;
            columns that the model does not need are not read.
        output : str or path
            A file to write, .parquet or .csv; or a folder, whose name ends in ``/``, for Parquet files of some 250,000
            rows each and ``_manifest.json``, which says what they are of and has a checksum of each.
        rule, cost, reject, class_prior
            As in `predict`; the rule ``"gibbs"`` draws the hypothesis of a row by its number, whatever the batches.
        interval, sets, uncertainty
            As in `predict_frame`; by default none is added to labels and probabilities.
        missing : mapping from column to values, or None
            By column, values that stand for "missing".
        resume : bool
            Whether to keep the parts that an interrupted call has written to the folder, and to write the others.
            Model, rule and files must be the same; files are compared by names, sizes and times of the last change.
        progress : bool, callable or None
            As in `bayesclf.set_progress`.

        Raises
        ------
        InputError
            For a folder that is not empty, without `resume`; and with it, for one that has answers of another model,
            rule, version or files.

        Warns
        -----
        PredictionWarning
            For each column with levels that the training rows lack, once.
        """
        from bayesclf.interpretation.prediction_files import predict_stream
        from bayesclf.interpretation.predictions import Decision, Extras

        check_is_fitted(self, "classes_")
        decision, extras = Decision(rule, cost, reject, class_prior), Extras(interval, sets, uncertainty)
        given: dict[str, Any] = {"missing": missing, "resume": resume, "progress": progress}
        return predict_stream(self, source, output, decision, extras, **given).rows

    def predict_set(
        self, X: Any, level: float = 0.9, rule: str | Gibbs | None = None, class_prior: Any = None
    ) -> PredictionSets:
        """Return for each row the smallest set of classes whose probability is at least `level`, in (0, 1).

        Such a set has the true class as often as its probability says only where the model is right: it promises no
        coverage. `bayesclf.SplitConformal` does. The other arguments are those of `predict`.
        """
        from bayesclf.decisions import posterior_sets

        return posterior_sets(self.predict_log_proba(X, rule, class_prior), self.classes_, level)

    def to_datatree(self, X: Any, y: Any, draws: int | None = None, random_state: Any = None) -> xr.DataTree:
        """Return prior, posterior, predictions and log densities of the training rows as a tree for ArviZ.

        Groups and parameters are those of `bayesclf.evaluation.datatree.to_datatree`.
        """
        from bayesclf.evaluation.datatree import to_datatree

        return to_datatree(self, X, y, draws, random_state)

    def predictive_check(
        self, X: Any, y: Any, draws: int = 200, random_state: Any = None, prior: bool = True
    ) -> xr.DataTree:
        """Compare the training rows with replicated ones; see `bayesclf.predictive_checks.predictive_check`."""
        from bayesclf.evaluation.predictive_checks import predictive_check

        check_is_fitted(self, "classes_")
        return predictive_check(self, X, y, draws, random_state, prior)

    def explain(
        self, X: Any, outcome: Any = None, against: Any = None, ci_prob: float = CI_PROB, rule: str | None = None
    ) -> Explanation:
        """Take log-odds between two classes apart by feature; see `bayesclf.interpretation.explanation.explain`."""
        from bayesclf.interpretation.explanation import explain

        return explain(self, X, outcome, against, ci_prob, rule)

    def summary(self, ci_prob: float = CI_PROB, of: str | None = None) -> pd.DataFrame:
        """Return odds ratios or parameters, with intervals, as a table; see `bayesclf.interpretation.summary.summary`.

        Logistic regression has ``of="odds"`` by default, all others ``of="parameters"``.
        """
        from bayesclf.interpretation.summary import summary

        return summary(self, ci_prob, of)

    def prior_summary(self) -> pd.DataFrame:
        """Return the prior of each parameter with its numbers, and the model in words.

        See `bayesclf.interpretation.priors.prior_summary`.
        """
        from bayesclf.interpretation.priors import prior_summary

        return prior_summary(self)

    def report(self, path: Any, X: Any = None, y: Any = None, progress: Progress = None) -> None:
        """Write a report: checks, priors, posterior, and with the training rows `X`, `y` predictions.

        One self-contained HTML file; without figures Markdown where `path` ends with ``.md``, JSON with ``.json``.
        `progress` is that of `diagnose`, which takes most of the time.
        """
        from bayesclf.report import write_classifier

        check_is_fitted(self, "classes_")
        write_classifier(self, path, X, y, progress=progress)

    def save(self, path: Any) -> None:
        """Write the fitted classifier to one file that `bayesclf.load` reads and ArviZ can open."""
        from bayesclf.storage import save

        check_is_fitted(self, "classes_")
        save(self, path)
