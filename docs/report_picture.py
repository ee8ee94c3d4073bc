"""Take the README's picture, the first screen of a report, with a headless Chromium.

``python docs/report_picture.py report.html``, where ``python3 tasks.py demo`` has written report.html.
"""

import subprocess
import sys
from pathlib import Path

SCREEN = (1280, 900)


def main(report: Path, picture: Path) -> None:
    """Write the first screen of a page as a PNG."""
    flags = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={SCREEN[0]},{SCREEN[1]}"]
    subprocess.run(["chromium", *flags, f"--screenshot={picture}", report.resolve().as_uri()], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(__file__).with_name("report.png"))
