"""Entry point of `hf-paraphrase train-supervised`."""

from __future__ import annotations

import sys

from hf_paraphrase.commands import main

if __name__ == "__main__":
    sys.exit(main(verb="train-supervised"))
