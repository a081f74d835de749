"""Lists the packages; everything else is in `setup.cfg`."""

from __future__ import annotations

from setuptools import find_packages, setup

# `packages = find:` in setup.cfg cannot name the card templates: `package_dir` maps them to folders at the top level.
setup(
    packages=[
        *find_packages(include=["hf_paraphrase", "hf_paraphrase.*"]),
        "hf_paraphrase.artefacts.model_cards",
        "hf_paraphrase.artefacts.dataset_cards",
    ]
)
