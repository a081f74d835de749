"""Settings of the search for translations: the model and its languages, the beam, and the precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import UsageError
from ..jobs.shard_settings import ShardSettings
from ..settings import Settings, setting
from ..training.devices import check_device, is_bf16
from ..vectors.similarity import check_counts

MAX_LENGTH_RATIO = 3.0
"""Length limit of Groundhog, the reference code: three times the source length."""


@dataclass(frozen=True)
class BeamSearchConfig:
    """Settings of a search, which determine its result for a model and sentences.

    They are documented as options of `back-translate`. With `bf16` the search computes in bfloat16; scores are always
    computed in fp32.
    """

    num_beams: int = 50
    num_return_sequences: int = 50
    length_penalty: float = 1.0
    max_source_tokens: int = 250
    max_length_ratio: float = MAX_LENGTH_RATIO
    bf16: bool = False
    candidates_frequent: int | None = None
    candidates_per_unit: int | None = None
    min_length_ratio: float = 0.0

    def __post_init__(self) -> None:
        check_counts(num_beams=self.num_beams, num_return_sequences=self.num_return_sequences)


@dataclass(kw_only=True)
class BeamLimits(Settings):
    """The limits, ranking, precision and device of a search."""

    GROUP: ClassVar[str] = "search for translations"

    max_length_ratio: float = setting(
        "maximum length of a translation in tokens, as a multiple of its source's", MAX_LENGTH_RATIO, above=0
    )
    min_length_ratio: float = setting(
        "minimum length of a translation in tokens, as a multiple of its source's (0.5 in Wieting et al. 2017)",
        0.0,
        at_least=0,
    )
    length_penalty: float = setting(
        "exponent of the length that divides scores in ranking; 0 ranks by the sum", 1.0, at_least=-50, at_most=50
    )
    precision: str = setting(
        "precision of the search; auto: bf16 if the hardware supports it", "auto", choices=["auto", "bf16", "fp32"]
    )
    device: str | None = setting(
        "device for the models, by its name in torch: cpu, cuda, cuda:1 [default: a GPU if available]", None
    )

    def check(self) -> None:
        """Check that the settings are valid."""
        super().check()
        if self.min_length_ratio > self.max_length_ratio:
            raise UsageError("--min-length-ratio is above --max-length-ratio", remedy="give a smaller one")
        if self.device is not None and getattr(self, "computes_here", True):
            check_device(self.device)

    def options(self, device: str | None, **more: Any) -> BeamSearchConfig:
        """Return the options of the search; the device determines the precision `auto`."""
        return BeamSearchConfig(
            length_penalty=self.length_penalty,
            max_length_ratio=self.max_length_ratio,
            min_length_ratio=self.min_length_ratio,
            bf16=is_bf16(self.precision, device),
            **more,
        )


@dataclass(kw_only=True)
class SearchSettings(BeamLimits):
    """The model that translates, and its languages."""

    GROUP: ClassVar[str] = "search for translations"

    model: str = setting(
        "translation model: a folder from train-nmt, or any sequence-to-sequence model of transformers (Marian, NLLB, "
        "M2M100, mBART, T5), as a folder or by its name on the Hub",
        path=True,
    )
    model_source_lang: str | None = setting(
        "source language: its code in a multilingual model, such as fra_Latn", None
    )
    model_target_lang: str | None = setting("target language: its code in a multilingual model", None)
    task_prefix: str | None = setting(
        "text to put before every source, as T5 models need it [default: the prefix for the languages]", None
    )

    @property
    def languages(self) -> dict[str, str | None]:
        """The languages and the prefix as arguments of `load_translation_model`."""
        return {
            "source_lang": self.model_source_lang,
            "target_lang": self.model_target_lang,
            "task_prefix": self.task_prefix,
        }


@dataclass(kw_only=True)
class CandidateSettings(Settings):
    """A candidate vocabulary for each sentence (Jean et al. 2015)."""

    GROUP: ClassVar[str] = "search for translations"

    lexical_table: str | None = setting(
        "table made by lexical-table, which limits each sentence to a few candidate tokens", None, path=True
    )
    candidates_frequent: int = setting(
        "most frequent target tokens that are always candidates", 10_000, at_least=0, only_with="lexical_table"
    )
    candidates_per_unit: int = setting(
        "most probable translations of each source token that are candidates",
        25,
        at_least=0,
        only_with="lexical_table",
    )

    @property
    def candidates(self) -> dict[str, int]:
        """The numbers of candidates as options of a search; empty without a table."""
        names = ("candidates_frequent", "candidates_per_unit") if self.lexical_table else ()
        return {name: getattr(self, name) for name in names}


@dataclass(kw_only=True)
class SearchJobSettings(BeamLimits, ShardSettings):
    """A search for translations of many sentences, in shards."""

    num_beams: int = setting("beam width", 5, at_least=1)
    max_source_tokens: int = setting("skip and record sentences of more subwords than this", 250, at_least=1)

    def options(self, device: str | None, **more: Any) -> BeamSearchConfig:
        """Return the options of the search; the device determines the precision `auto`."""
        return super().options(device, num_beams=self.num_beams, max_source_tokens=self.max_source_tokens, **more)
