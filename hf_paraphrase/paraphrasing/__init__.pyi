# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

from hf_paraphrase import paraphrase_file

from .generators import ApiOptions, Candidate, Generator, SamplingOptions
from .paraphraser import Paraphraser
from .run import paraphrase

__all__ = ["ApiOptions", "Candidate", "Generator", "Paraphraser", "SamplingOptions", "paraphrase", "paraphrase_file"]
