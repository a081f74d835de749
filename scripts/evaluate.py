"""Entry point of `hf-paraphrase evaluate`."""

from __future__ import annotations

import sys
from pathlib import Path

# Otherwise `import evaluate` would find this file instead of the library of that name.
sys.path = [entry for entry in sys.path if Path(entry).resolve() != Path(__file__).resolve().parent]

from hf_paraphrase.commands import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(verb="evaluate"))
