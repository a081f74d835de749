"""`python -m hf_paraphrase VERB …` and `accelerate launch -m hf_paraphrase VERB …`."""

from __future__ import annotations

import sys

from .commands import main

if __name__ == "__main__":
    sys.exit(main())
