"""What is known of data sets that have a name: those that ship, those of scikit-learn, and those of openml.org."""

from __future__ import annotations

import re
from dataclasses import dataclass
from http.client import HTTPException
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesclf.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

CC_BY, UNCLEAR = "CC BY 4.0", "unclear"
"""Licenses: of the tables that ship, and of those whose terms are not known."""


@dataclass(frozen=True)
class About:
    """What is known of a table without reading it; `columns` counts the labels' column."""

    rows: int
    columns: int
    classes: int
    description: str
    creators: str
    source: str
    license: str = CC_BY
    changes: str = ""
    note: str = ""
    file: str = ""


def folder() -> Path:
    """Return the folder of the tables that ship: inside the package of a wheel, next to it in a source checkout."""
    package = Path(str(resources.files("bayesclf")))
    return package / "data" if (package / "data").is_dir() else package.parent / "data"


def _shipped() -> dict[str, About]:
    """Return what the README of the folder says of each table."""
    found = {}
    text = (folder() / "README.md").read_text(encoding="utf-8")
    for name, section in re.findall(r"^### (\w+)\n(.*?)(?=\n##|\Z)", text, re.MULTILINE | re.DOTALL):
        said = dict(re.findall(r"^- (\w+): (.+)$", section, re.MULTILINE))
        file, *sizes = re.findall(r"`(.+)`|(\d+) ", said.pop("file"))
        sentence = section.strip().partition("\n")[0].rstrip(".")
        rows, columns, classes = (int(size) for _, size in sizes)
        found[name] = About(rows, columns, classes, sentence[:1].lower() + sentence[1:], file=file[0], **said)
    return found


def _of_sklearn(name: str, sizes: tuple[int, int, int], description: str, creators: str) -> About:
    return About(*sizes, description, creators, f"scikit-learn, sklearn.datasets.load_{name}")


SHIPPED = _shipped()
SKLEARN_SETS = {
    "iris": _of_sklearn(
        "iris",
        (150, 5, 3),
        "three species of iris by the size of their sepals and petals (Fisher 1936)",
        "R. A. Fisher (1936)",
    ),
    "wine": _of_sklearn(
        "wine",
        (178, 14, 3),
        "three cultivars of wine by chemical analysis (Aeberhard and Forina 1991)",
        "Stefan Aeberhard and M. Forina (1991)",
    ),
    "breast_cancer": _of_sklearn(
        "breast_cancer",
        (569, 31, 2),
        "Wisconsin breast cancer: malignant or benign by the shape of cell nuclei",
        "William H. Wolberg, W. Nick Street and Olvi L. Mangasarian (1993)",
    ),
    "digits": _of_sklearn(
        "digits",
        (1797, 65, 10),
        "handwritten digits as pictures of 8 x 8 pixels (test part of UCI optdigits)",
        "Ethem Alpaydin and Cenk Kaynak (1998)",
    ),
}
NAMED = {
    "pima": About(
        *(768, 9, 2),
        "diabetes within five years among Pima women",
        "National Institute of Diabetes and Digestive and Kidney Diseases, donated by Vincent Sigillito (1990)",
        "https://www.openml.org/d/37",
        UNCLEAR,
        "classes renamed; zeros that stand for missing values are left as they are",
    ),
    "boston": About(
        *(506, 14, 2),
        "whether homes of a tract of Boston cost more than in the median tract",
        "D. Harrison and D. L. Rubinfeld (1978), StatLib",
        "https://www.openml.org/d/531",
        UNCLEAR,
        "the price is replaced by whether it is above its median",
    ),
}
"""Tables that do not ship; openml.org has them, in a fixed version."""


def fetch(name: str) -> Any:
    """Return a data set by name or number, as `sklearn.datasets.fetch_openml` gives it."""
    from sklearn.datasets import fetch_openml

    if not name:
        raise InputError("openml: needs a name or a number, such as openml:credit-g or openml:31")
    which = {"data_id": int(name)} if name.isascii() and name.isdigit() else {"name": name}
    try:
        return fetch_openml(**which, as_frame=True, parser="auto", n_retries=0)
    except (ValueError, OSError, HTTPException) as error:
        raise InputError(
            f"openml:{name} cannot be fetched ({error}); check its number and the network, or save the table to a file"
        ) from error


def read_named(name: str) -> pd.DataFrame:
    """Return the features of one of the `NAMED` tables and, last, its label column ``class``."""
    import pandas as pd

    try:
        frame = fetch(NAMED[name].source.rpartition("/")[2]).frame
    except InputError as reason:
        raise InputError(
            f"{name} does not ship with bayesclf, as its license is not clear, and {reason}, "
            f"{name}.csv, in a folder that BAYESCLF_DATA names"
        ) from None
    *features, label = (column for _, column in frame.items())
    if pd.api.types.is_numeric_dtype(label):
        label = (label > label.median()).map({True: "high", False: "low"})
    # categories of digits are numbers here
    numbers = {str(own.name).lower(): pd.to_numeric(own.astype(str)) for own in features}
    return pd.DataFrame({**numbers, "class": label.astype("str").str.removeprefix("tested_")})
