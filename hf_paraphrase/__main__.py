"""`python -m hf_paraphrase COMMAND …` and `accelerate launch -m hf_paraphrase COMMAND …`."""

from __future__ import annotations

from .commands import main

if __name__ == "__main__":
    raise SystemExit(main())
