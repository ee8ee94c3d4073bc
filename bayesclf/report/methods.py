"""A report in a paragraph: what a paper's section on methods and results has to say of a fit or of a comparison."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from bayesclf.arrays import Integers
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.generative import GenerativeClassifier
from bayesclf.classifiers.given import is_given
from bayesclf.classifiers.logistic import LogisticRegression
from bayesclf.diagnostics import Diagnosis
from bayesclf.engines.inference import MLE
from bayesclf.evaluation.comparison import Comparison
from bayesclf.evaluation.judgments import CONFIDENCE
from bayesclf.evaluation.peers import BOOSTING, NO_RULE
from bayesclf.evaluation.score_table import with_error
from bayesclf.families.learned_alpha import TEXTBOOK
from bayesclf.families.prior_lines import Hyperparameter, span
from bayesclf.interpretation.summary import Priors
from bayesclf.report import names, table
from bayesclf.report.facts import loss_and_shares
from bayesclf.report.verdict import ERROR, LEFT_OUT, Verdict, against_shares, left_out, place
from bayesclf.rules import RULES
from bayesclf.tables.columns import kinds_of
from bayesclf.wording import counted, first_upper, joined, listed, pair

if TYPE_CHECKING:
    import pandas as pd

MOST = 6
"""Classes that are named."""

NADEAU = "C. Nadeau, Y. Bengio (2003), Inference for the generalization error, Machine Learning 52, 239–281."
"""Of the standard errors of held-out scores."""

REFERENCES = (
    f"References: {NADEAU} T. Hothorn, F. Bretz, P. Westfall (2008), Simultaneous inference in general parametric "
    "models, Biometrical Journal 50, 346–363."
)
"""Of the standard errors of a comparison, and of its clear differences."""


def of_classifier(
    classifier: BayesClassifier,
    codes: Integers | None,
    order: Sequence[int],
    priors: Priors,
    diagnosis: Diagnosis,
    frame: pd.DataFrame | None,
    data: str,
) -> str:
    """Return what was fitted, to which rows of `data`, a `frame`, under which priors, how, and how good it is."""
    columns = counted(len(classifier.columns_), "column")
    size = columns if codes is None else f"{counted(len(codes), 'row')} and {columns}{f' of {data}' if data else ''}"
    if count := getattr(classifier.model_, "unlabeled", 0):
        size = f"{counted(count, 'row')} without a label and {size}"
    target = f" to predict {classifier.target_name_}" if classifier.target_name_ else ""
    classes = "" if codes is None else f" ({_shares(codes, classifier.classes_, order)})"
    name = first_upper(names.kind_name(classifier))
    sentences = [f"{name} was fitted to {size}{target}{classes}.", _model(name, classifier, priors)]
    if getattr(classifier, "prior", None) is not None and not isinstance(classifier.inference_, MLE):
        sentences.append("The priors are the posterior of an earlier fit.")
    sentences += _missing({"the fit": classifier}, frame)
    sentences += [*_codes([classifier]), *_left_out(classifier.notes_)]
    held_out, references = diagnosis.held_out, ""
    if held_out is not None and held_out.answered:
        loss = loss_and_shares(held_out, held_out.best)
        how = names.HOW[held_out.best[1]]
        sentences.append(f"In {held_out.setting}, the log loss of the model {how} was {loss}; ± is {ERROR}.")
        references = f"Reference: {NADEAU}"
    made = len(diagnosis.findings) - len(diagnosis.not_applicable)
    raised = joined(f"{finding.code} ({finding.title})" for finding in diagnosis.issues)
    tips = joined(f"{finding.code} ({finding.title})" for finding in diagnosis.tips)
    undecided = joined(f"{finding.code} ({finding.title})" for finding in diagnosis.undecided)
    undecided = undecided and f"; undecided: {undecided}"
    issues = f"{len(diagnosis.issues)} raised an issue: {raised}" if diagnosis.issues else "none raised an issue"
    sentences.append(f"Of {counted(made, 'check')}, {issues}{f'; tips: {tips}' if tips else ''}{undecided}.")
    return " ".join([*sentences, _computed(classifier.seed_), references]).strip()


def of_comparison(comparison: Comparison, judged: Verdict, priors: Mapping[str, Priors]) -> str:
    """Return what was compared, on what, how, and what came of it."""
    rows, columns = comparison.X.shape
    answered = [model for model in comparison.models if not all(_reasons(comparison, model))]
    fits = {names.full_name(comparison, name): fit for name, fit in comparison.fits.items() if name in answered}
    learned = any(not isinstance(fit.inference_, MLE) for fit in fits.values())
    without = [model for model in comparison.models if model not in answered]
    models = joined(names.full_name(comparison, model) for model in answered) or "no model"
    were = "was" if len(answered) == 1 else "were"
    size = (
        f"{counted(rows, 'row')} and {counted(columns, 'column')}{f' of {comparison.data}' if comparison.data else ''}"
    )
    target = f" for predicting {comparison.target}" if comparison.target else ""
    folds = f"{comparison.cv} splits" if comparison.splitter else f"{comparison.cv}-fold stratified cross-validation"
    times = f", repeated {comparison.repeats} times" if comparison.repeats > 1 else ""
    sentences = [
        f"{first_upper(models)} {were} {'compared' if len(answered) > 1 else 'tried'} on {size}{target} "
        f"({_shares(comparison.y, comparison.classes, comparison.order)}) by {folds}{times}.",
        *(
            f"{first_upper(names.full_name(comparison, model))} had no answer: {_reasons(comparison, model)[0]}."
            for model in without
        ),
        *(
            _model(names.full_name(comparison, model), comparison.fits[model], of)
            for model, of in priors.items()
            if model in answered
        ),
        *(["Families, learned values and parameters of priors came from the fits to all rows."] if learned else []),
        *_missing(fits, comparison.X),
        *_codes(list(comparison.fits.values())),
        *_boosted(comparison),
        *_left_out(comparison.read),
        *_rules(comparison),
        *(_results(comparison, judged) if judged.models else [judged.headline]),
    ]
    used = ["bayesclf", "PyMC", *(["scikit-learn"] if comparison.peers else [])]
    return " ".join([*sentences, _computed(comparison.seed, used), REFERENCES])


def _model(name: str, fit: BayesClassifier, priors: Priors) -> str:
    """Return what a model assumed, under which priors it was fitted, and how."""
    assumed = names.ASSUMED.get(type(fit).__name__, "")
    said = [f"{first_upper(name)} assumed that {assumed}{_families(fit)}."] if assumed else []
    of = "The fit's" if is_given(fit) else "Its" if assumed else f"The {name}'s"
    said += [] if isinstance(fit.inference_, MLE) else [f"{of} {_priors(priors)}"]
    said.append(f"The fit gave the {names.engine_name(fit)}")
    if isinstance(fit, GenerativeClassifier) and fit.requested_rule(None) == "tempered" and fit.left_out_:
        said[-1] += f"; tempering gave the columns' log-likelihood the factor {float(fit.temper_['T'].mean()):.2f}"
    return f"{' '.join(said)}."


def _families(fit: BayesClassifier) -> str:
    """Return the families that naive Bayes took by evidence, and for which or how many columns, as a clause."""
    chosen = getattr(fit, "families_", None)
    if chosen is None or (chosen := chosen.dropna(how="all")).empty:  # a constant column has no family
        return ""
    groups = chosen.index.to_series().groupby(chosen.idxmax(axis=1))
    named = [(family, own.iloc[0] if len(own) == 1 else counted(len(own), "column")) for family, own in groups]
    return f"; the families of numbers, chosen by evidence, were {joined(f'{family} ({of})' for family, of in named)}"


PAST = {"is": "was ", "are": "were "}


def _left_out(notes: Sequence[str]) -> list[str]:
    """Return which rows and columns were left out, without what takes them."""
    said = (sentence.partition(LEFT_OUT)[0] for sentence in left_out(notes))
    return [re.sub(r"(is|are) $", lambda found: PAST[found[1]], head) + "left out." for head in said]


def _results(comparison: Comparison, judged: Verdict) -> list[str]:
    """Return how good the recommended model was, and where the others stood."""
    best = comparison.best
    said = [
        f"{first_upper(names.entry_subject(comparison, *best))} was {against_shares(comparison, best)} the class "
        f"shares: its log loss was {loss_and_shares(comparison, best)}."
    ]
    others = joined(
        f"{names.full_name(comparison, one.model)}{'' if one.rule == NO_RULE else f' under {one.rule}'} was "
        f"{place(one.kind, one.difference < 0)} ({pair(one.difference, one.error)})"
        for one in judged.against
    )
    if comparison.costs is not None:
        cost = with_error(comparison, best, "cost")
        said.append(f"Its decisions cost {pair(cost['cost'], cost['cost_se'])} per row.")
    if others:
        said.append(f"By differences of log loss from it, {others}.")
    models = ", those between models all together" * any(one.kind == "behind" for one in judged.against)
    if models or against_shares(comparison, best).startswith("clearly"):
        said.append(f"Clear differences held with {100 * CONFIDENCE:.0f}% confidence{models}.")
    return [
        *said,
        f"± is {ERROR}. Probable differences exceeded one standard error. Differences that depended on the folds were "
        f"neither. Models that surely differed by less than {comparison.matters:.2g} were tied.",
    ]


OF_GROUP = re.compile(r"_\d+\b(?!})")
"""The number of a group of columns in the name of a parameter; numbers of a form, in braces, have one of their own."""

CALLED = {
    "mu": "the means ",
    "pi": "the class shares ",
    "sigma2": "the variances ",
    "theta": "the probabilities ",
}
"""What stands before the names of parameters."""

MISSING = {
    "ignore": "left them out of the likelihood",
    "level": "treated them as levels",
}
"""What a classifier did with missing cells, by its setting `missing`."""

IMPUTED = {"number": "imputed the mean of a number, with an indicator", "category": "gave a missing category no weight"}
"""What logistic regression did with missing cells, by the kind of their column."""


def _missing(fits: Mapping[str, BayesClassifier], frame: pd.DataFrame | None) -> list[str]:
    """Say what each fit, by its name in a sentence, does with missing cells."""
    cells = 0 if frame is None else int(frame.isna().to_numpy().sum())
    kinds = kinds_of(frame.loc[:, frame.isna().any()]).values() if frame is not None and cells else ()
    words = MISSING | {"impute": " and ".join(said for kind, said in IMPUTED.items() if kind in kinds)}
    found = {name: words.get(str(getattr(fit, "missing", "")), "") for name, fit in fits.items()}
    said = [f"{name} {did}" for name, did in found.items() if did]
    return [f"{counted(cells, 'cell was', 'cells were')} missing: {'; '.join(said)}."] if cells and said else []


def _boosted(comparison: Comparison) -> list[str]:
    """Say what the line of gradient boosting is, where there is one."""
    words = "category" in kinds_of(comparison.X).values()
    told = ", told which columns are categories" * words
    said = f"Gradient boosting was scikit-learn's HistGradientBoostingClassifier with its default settings{told}."
    return [said] if BOOSTING in comparison.peers else []


def _codes(fits: Sequence[BayesClassifier]) -> list[str]:
    """Say how logistic regression takes categories."""
    kinds = [column.kind for fit in fits if isinstance(fit, LogisticRegression) for column in fit.columns_]
    return ["Logistic regression had a weight for each level of a category."] * ("category" in kinds)


def _rules(comparison: Comparison) -> list[str]:
    """Say by which rules the models answered, and which models where not all did."""
    said = []
    for rule in RULES:
        models = [model for model in comparison.fits if rule in comparison.rules_of(model)]
        of = "" if len(models) == len(comparison.fits) else f", {joined(models)}"
        if models:
            said.append(f"{names.HOW[rule].replace('its', 'their')} ({rule}{of})")
    return [f"The Bayesian models answered {joined(said)}."] if said else []


def _reasons(comparison: Comparison, model: str) -> list[str]:
    """Return why each rule of a model has no answer, empty for one that has; of a model left out, one reason."""
    return [answer.reason for (name, _), answer in comparison.answers.items() if name == model]


def _shares(codes: Integers, classes: Any, order: Sequence[int]) -> str:
    """Return the share of each class."""
    return listed([f"{label} {share}" for label, _, share in table.class_counts(codes, classes, order)], MOST, ", …")


def _priors(priors: Priors) -> str:
    """Return the priors as a clause, one entry for each parameter and form; numbers that differ as their range.

    Parameters of several groups of columns, such as theta_3 and theta_4, are one: theta.
    """
    forms: dict[tuple[str, str], list[Mapping[str, Hyperparameter]]] = {}
    for line in priors.lines:
        parameter, form = (OF_GROUP.sub("", text) for text in (line.parameter, line.form))
        forms.setdefault((parameter, form), []).append(line.numbers)
    said = [
        f"{form.format(**{name: span(own[name] for own in numbers) for name in numbers[0]})} for "
        f"{CALLED.get(parameter, '')}{parameter}"
        for (parameter, form), numbers in forms.items()
    ]
    numbers = "nu" if any(line.parameter == "nu" for line in priors.lines) else f"α, where not {TEXTBOOK:g},"
    learned = f" ({numbers} learned from the rows)"
    learned = learned if priors.learned else ""
    symbols = "".join(f", where {symbol}" for symbol in priors.symbols)
    return f"priors were {'; '.join(said)}{learned}{symbols}."


def _computed(seed: int, used: Sequence[str] = ("bayesclf", "PyMC")) -> str:
    """Return by what, and from which seed."""
    return f"Computed with {joined(f'{name} {version(name)}' for name in used)}, seed {seed}."
