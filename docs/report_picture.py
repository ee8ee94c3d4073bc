"""Take the README's picture, the first screen of a report, light and dark, with a headless Chromium.

``python docs/report_picture.py report.html``, where ``python3 tasks.py demo`` has written report.html.
"""

import subprocess
import sys
from pathlib import Path

SCREEN = (1280, 900)
SCHEMES = {"report_dark.png": 0, "report.png": 1}
"""Pictures, and Chromium's number of the color scheme."""


def main(report: Path, folder: Path) -> None:
    """Write the first screen of a page as PNGs."""
    for name, scheme in SCHEMES.items():
        flags = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={SCREEN[0]},{SCREEN[1]}"]
        flags += [f"--blink-settings=preferredColorScheme={scheme}", f"--screenshot={folder / name}"]
        subprocess.run(["chromium", *flags, report.resolve().as_uri()], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(__file__).parent)
