"""The tables that ship with the package: where they lie, what they are, who made them, and under which license."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

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
