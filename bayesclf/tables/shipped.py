"""Data sets that have a name: those that ship, those of scikit-learn, and those of openml.org."""

from __future__ import annotations

from dataclasses import dataclass
from http.client import HTTPException
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError

from bayesclf.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

CC_BY = "CC BY 4.0"
UCI = "UCI Machine Learning Repository"
CANONICAL = "written as CSV with a header row, the label last and named class, missing cells empty"
"""What was changed in every table of the UCI repository."""

LJUBLJANA = (
    "This domain was obtained from the University Medical Centre, Institute of Oncology, Ljubljana, Yugoslavia; thanks "
    "go to M. Zwitter and M. Soklic for providing the data"
)
"""The acknowledgement that the donors request."""


@dataclass(frozen=True)
class ShippedTable:
    """A table of the folder ``data``.

    Attributes
    ----------
    file
        Its name in that folder.
    rows, columns, classes
        Its size, the label column included, and the number of classes.
    sha256
        Checksum of the CSV text, after unpacking.
    description
        What it is, in one line.
    creators, source
        Who made it, and where it was published.
    license
        Under which license.
    changes
        What differs from the source.
    note
        What its users have to know or to acknowledge; empty for most.
    """

    file: str
    rows: int
    columns: int
    classes: int
    sha256: str
    description: str
    creators: str
    source: str
    license: str = CC_BY
    changes: str = CANONICAL
    note: str = ""


def _uci(number: int, title: str, doi: str) -> str:
    return f"{UCI}, data set {number}, {title}, https://doi.org/10.24432/{doi}"


SHIPPED = {
    "play_tennis": ShippedTable(
        "play_tennis.csv",
        *(14, 5, 2),
        "1be2347eea60aed39b7dc0270859333e5181530de607cb3d8aeaf8606836e4f0",
        "whether tennis was played on 14 days, by their weather",
        "Tom M. Mitchell",
        "Tom M. Mitchell, Machine Learning, McGraw-Hill 1997, Table 3.2",
        license="none needed",
        changes="typed in as CSV, without the numbers of the days",
        note="The rows are facts of a textbook's table",
    ),
    "adult": ShippedTable(
        "adult.csv.gz",
        *(48842, 15, 2),
        "c8c90162da847cacc2491eae9d5601c48b85849a129ae3b81163da577a59c560",
        "whether a person earned over 50,000 dollars in 1994, by census answers",
        "Barry Becker and Ronny Kohavi (1996)",
        _uci(2, "Adult", "C5XW20"),
        changes=f"{CANONICAL}; adult.data and adult.test in one table, the dot after the labels of the latter removed",
    ),
    "optdigits": ShippedTable(
        "optdigits.csv.gz",
        *(5620, 65, 10),
        "bad8ab225b5bbfa5997914b4a0daef5c60c6f2505e167e303a4013cd4cea624b",
        "handwritten digits of 43 writers as pictures of 8 x 8 pixels",
        "Ethem Alpaydin and Cenk Kaynak (1998)",
        _uci(80, "Optical Recognition of Handwritten Digits", "C50P49"),
        changes=f"{CANONICAL}; optdigits.tra and optdigits.tes in one table, columns named by row and column",
    ),
    "ionosphere": ShippedTable(
        "ionosphere.csv",
        *(351, 35, 2),
        "d162154bdc8641b7bcb6772bdd720703d669fbd36e45d194145be3b3a4b56633",
        "good and bad radar returns from the ionosphere",
        "Vince G. Sigillito, Simon P. Wing, Larrie V. Hutton and Kile B. Baker (1989)",
        _uci(52, "Ionosphere", "C5W01B"),
        changes=f"{CANONICAL}; columns and classes named",
    ),
    "bupa": ShippedTable(
        "bupa.csv",
        *(345, 7, 2),
        "fa67269bf682152a8399b11795782ad326d6d6f0601e833ab0928410506d9e5f",
        "liver disorders: blood tests and drinks of men; the class is the donor's split, as in Ng and Jordan (2002)",
        "BUPA Medical Research Ltd., donated by Richard S. Forsyth (1990)",
        _uci(60, "Liver Disorders", "C54G67"),
        note="The class is the selector by which the donor split the rows in two; it is not a diagnosis",
    ),
    "sonar": ShippedTable(
        "sonar.csv",
        *(208, 61, 2),
        "45327148c56596ec32d7c8bacd2dc50c499bdd0916b9c83eaf2ec6c38f91cf63",
        "sonar echoes of mines and rocks by the energy in 60 bands",
        "Terry Sejnowski and R. Paul Gorman (1988)",
        _uci(151, "Connectionist Bench (Sonar, Mines vs. Rocks)", "C5T01Q"),
        changes=f"{CANONICAL}; columns and classes named",
    ),
    "promoters": ShippedTable(
        "promoters.csv",
        *(106, 58, 2),
        "cc736d61fb83d14bf2a9570303262ee91cad92eb4d939acf2b81f8906c43e135",
        "E. coli promoters by 57 nucleotides of the gene sequence",
        "C. Harley, R. Reynolds and M. Noordewier, donated by Jude Shavlik (1990)",
        _uci(67, "Molecular Biology (Promoter Gene Sequences)", "C5S01D"),
        changes=f"{CANONICAL}; one column a position, the names of the sequences left out, classes named",
    ),
    "lymphography": ShippedTable(
        "lymphography.csv",
        *(148, 19, 4),
        "02e3023e4915ecdcde484b8c5cda3167cd91622b7fbd2e3db95629d7b86a6366",
        "findings of lymphography in four diagnoses",
        "M. Zwitter and M. Soklic, University Medical Centre, Institute of Oncology, Ljubljana (1988)",
        _uci(63, "Lymphography", "C54598"),
        changes=f"{CANONICAL}; codes replaced by the words of the documentation",
        note=LJUBLJANA,
    ),
    "breast_cancer_ljubljana": ShippedTable(
        "breast_cancer_ljubljana.csv",
        *(286, 10, 2),
        "6cef0f15b73a8210257349cec1adb341e0c52b7c2f3e9d71b8d3188544425a88",
        "Ljubljana breast cancer: recurrence or not, by age and findings",
        "M. Zwitter and M. Soklic, University Medical Centre, Institute of Oncology, Ljubljana (1988)",
        _uci(14, "Breast Cancer", "C51P4M"),
        note=LJUBLJANA,
    ),
    "lenses": ShippedTable(
        "lenses.csv",
        *(24, 5, 3),
        "d0ea23534546d5d4295f79ae3a2ea819a65722a721c423f02bbd98dbfad5c16d",
        "which contact lenses fit, for every combination of four findings",
        "J. Cendrowska (1987), donated by Benoit Julien (1990)",
        _uci(58, "Lenses", "C5K88Z"),
        changes=f"{CANONICAL}; codes replaced by the words of the documentation",
    ),
    "sick": ShippedTable(
        "sick.csv.gz",
        *(3772, 30, 2),
        "0dc47fc298fc4c8eb049159ab9e716c9b13187b83a32db313170a0d7544e8753",
        "thyroid disease: sick or not, by questions and blood tests",
        "Garavan Institute and J. Ross Quinlan (1987)",
        _uci(102, "Thyroid Disease", "C5D010"),
        changes=f"{CANONICAL}; sick.data and sick.test in one table, the numbers of the records left out",
    ),
    "votes": ShippedTable(
        "votes.csv",
        *(435, 17, 2),
        "6e69301fcac51ca0955c9797763ea320bb33f5379495fb15b14ba512e202d56b",
        "party of the members of the US House of Representatives by 16 votes of 1984",
        "Congressional Quarterly Almanac (1985), donated by Jeff Schlimmer (1987)",
        _uci(105, "Congressional Voting Records", "C5C01P"),
        note="An empty cell is neither yea nor nay: the member was present, abstained or was absent",
    ),
    "sms_spam": ShippedTable(
        "sms_spam.csv.gz",
        *(5574, 2, 2),
        "2767ebc4392da5c03aef1d50b5a8b39ea57f33c68417527c47adec7f34e437b7",
        "text messages, wanted (ham) or spam",
        "Tiago A. Almeida and José María Gómez Hidalgo (2011)",
        _uci(228, "SMS Spam Collection", "C5CC84"),
        note=(
            "Messages of real people: some are coarse, and some hold names and telephone numbers; use them for "
            "research and teaching, and do not try to identify anybody"
        ),
    ),
}
"""The tables by name."""


def files() -> dict[str, Path]:
    """Return the path of each table: inside the package of a wheel, next to it in a source checkout."""
    package = Path(str(resources.files("bayesclf")))
    folder = package / "data" if (package / "data").is_dir() else package.parent / "data"
    return {name: folder / table.file for name, table in SHIPPED.items()}


@dataclass(frozen=True)
class SklearnSet:
    """What is known of a set without loading it."""

    rows: int
    columns: int
    classes: int
    description: str
    creators: str


SKLEARN_SETS = {
    "iris": SklearnSet(
        150, 5, 3, "three species of iris by the size of their sepals and petals (Fisher 1936)", "R. A. Fisher (1936)"
    ),
    "wine": SklearnSet(
        178,
        14,
        3,
        "three cultivars of wine by chemical analysis (Aeberhard and Forina 1991)",
        "Stefan Aeberhard and M. Forina (1991)",
    ),
    "breast_cancer": SklearnSet(
        569,
        31,
        2,
        "Wisconsin breast cancer: malignant or benign by the shape of cell nuclei",
        "William H. Wolberg, W. Nick Street and Olvi L. Mangasarian (1993)",
    ),
    "digits": SklearnSet(
        1797,
        65,
        10,
        "handwritten digits as pictures of 8 x 8 pixels (test part of UCI optdigits)",
        "Ethem Alpaydin and Cenk Kaynak (1998)",
    ),
}


UNCLEAR = "unclear"
"""The license of a table whose terms are not known."""


@dataclass(frozen=True)
class OpenMLTable:
    """A data set of openml.org, under the column names of this package.

    Attributes
    ----------
    number
        Its number, which belongs to one version.
    rows
        The number of rows.
    features
        Our names of its columns, in their order; all are numbers. The label comes after them.
    description, creators, changes
        What it is, who made it, and what is changed.
    """

    number: int
    rows: int
    features: tuple[str, ...]
    description: str
    creators: str
    changes: str

    @property
    def source(self) -> str:
        """Where it comes from."""
        return f"https://www.openml.org/d/{self.number}"


NAMED = {
    "pima": OpenMLTable(
        37,
        768,
        ("pregnancies", "glucose", "blood_pressure", "skin_thickness", "insulin", "bmi", "pedigree", "age"),
        "diabetes within five years among Pima women",
        "National Institute of Diabetes and Digestive and Kidney Diseases, donated by Vincent Sigillito (1990)",
        "columns and classes renamed; zeros that stand for missing values are left as they are",
    ),
    "boston": OpenMLTable(
        531,
        506,
        ("crim", "zn", "indus", "chas", "nox", "rm", "age", "dis", "rad", "tax", "ptratio", "b", "lstat"),
        "whether homes of a tract of Boston cost more than in the median tract",
        "D. Harrison and D. L. Rubinfeld (1978), StatLib",
        "columns renamed; the price is replaced by whether it is above its median",
    ),
}
"""Tables that do not ship, by the name that `bayesclf.tables.datasets.load` takes; each has two classes."""


def fetch(name: str) -> Any:
    """Return a data set by name or number, as `sklearn.datasets.fetch_openml` gives it.

    Raises
    ------
    InputError
        If there is no such data set, or the network is not there.
    """
    from sklearn.datasets import fetch_openml

    if not name:
        raise InputError("openml: needs a name or a number, such as openml:credit-g or openml:31")
    which = {"data_id": int(name)} if name.isascii() and name.isdigit() else {"name": name}
    try:
        return fetch_openml(**which, as_frame=True, parser="auto", n_retries=0)
    except (ValueError, HTTPError) as error:
        reason = f"cannot be used ({error}); look the data set up on openml.org and give its number"
        raise InputError(f"openml:{name} {reason}") from error
    except (OSError, HTTPException) as error:
        reason = f"cannot be fetched ({error}); check the network, or save the table to a file"
        raise InputError(f"openml:{name} {reason}") from error


def read_named(name: str) -> pd.DataFrame:
    """Return the features of one of the `NAMED` tables and, last, its label column ``class``.

    Raises
    ------
    InputError
        If it cannot be fetched, or does not have the rows and columns of the known table.
    """
    import pandas as pd

    table = NAMED[name]
    try:
        frame = fetch(str(table.number)).frame
    except InputError as reason:
        raise InputError(
            f"{name} does not ship with bayesclf, as its license is not clear, and {reason}, "
            f"{name}.csv, in a folder that BAYESCLF_DATA names"
        ) from None
    if frame.shape != (table.rows, len(table.features) + 1):
        raise InputError(
            f"data set {table.number} of openml.org is not the {name} that bayesclf knows; load it as "
            f"openml:{table.number}, or put {name}.csv into the folder of BAYESCLF_DATA"
        )
    *features, label = (column for _, column in frame.items())
    if pd.api.types.is_numeric_dtype(label):
        label = (label > label.median()).map({True: "high", False: "low"})
    # categories of digits are numbers here
    numbers = {ours: pd.to_numeric(own.astype(str)) for ours, own in zip(table.features, features, strict=True)}
    return pd.DataFrame({**numbers, "class": label.astype("str").str.removeprefix("tested_")})
