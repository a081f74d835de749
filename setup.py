"""Adds the card templates, which lie beside the package, to the packages; all else is in `setup.cfg`."""

from __future__ import annotations

from setuptools import find_packages, setup

# `packages = find:` in setup.cfg cannot name packages whose folder is mapped elsewhere by `package_dir`.
setup(
    packages=[
        *find_packages(include=["hf_paraphrase", "hf_paraphrase.*"]),
        "hf_paraphrase.artefacts.model_cards",
        "hf_paraphrase.artefacts.dataset_cards",
    ]
)
