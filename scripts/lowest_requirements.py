"""Print the requirements of setup.cfg at their lowest versions, as constraints for pip.

Example:
    python scripts/lowest_requirements.py search > lowest.txt
    pip install --constraint lowest.txt --editable ".[search]"
"""

from __future__ import annotations

import configparser
import re
import sys
from pathlib import Path

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,-]+\])?>=(?P<version>[\w.]+)")


def read_lowest_versions(setup_cfg: Path, extras: list[str]) -> dict[str, str]:
    """Read the lowest version of each requirement of the package and of some extras, by name."""
    parser = configparser.ConfigParser()
    parser.read(setup_cfg, encoding="utf-8")
    texts = [parser["options"]["install_requires"], *(parser["options.extras_require"][extra] for extra in extras)]
    lines = [line for text in texts for line in text.splitlines() if line and not line.startswith("#")]
    matches = [_REQUIREMENT.fullmatch(line) for line in lines]
    return {match["name"].lower(): match["version"] for match in matches if match}


if __name__ == "__main__":
    versions = read_lowest_versions(Path(__file__).parents[1] / "setup.cfg", sys.argv[1:])
    print("\n".join(f"{name}=={version}" for name, version in sorted(versions.items())))
