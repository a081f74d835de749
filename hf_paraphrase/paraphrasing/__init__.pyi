# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

from hf_paraphrase import paraphrase_file

from .paraphraser import Paraphraser, paraphrase

__all__ = ["Paraphraser", "paraphrase", "paraphrase_file"]
