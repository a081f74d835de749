"""`expansion` of `train_encoder`: sentences with definitions in the place of some words join the training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...artefacts.remote_paths import to_path
from ...encoders.augmentation import Augmentation, Extension
from ...errors import UsageError
from ...messages import log
from ...settings import Settings, setting
from .expander import SHARE, open_expander, wordnet_folder

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from .expander import Expander
    from .training_expansions import ExpandedTraining, ExpansionWriter

_BLOCK = 10_000
_SHARE = 0.25


@dataclass(kw_only=True)
class ExpansionSettings(Settings):
    """The settings of training on expansions too."""

    GROUP: ClassVar[str] = "expansion by definitions"

    expansion: str | None = setting(
        "train on expansions too, sentences with some words replaced by their definitions (paper 004): folder with "
        "WordNet 3.0 or 3.1, or auto to look for it as expand does",
        None,
        path=True,
    )
    expansion_share: float | None = setting(
        "pairs of a sentence and its expansion that join the pairs, for each of these, 0 to 2 [default: 0.25, and 0 "
        "with --expansion-weight]",
        None,
        at_least=0,
        at_most=2,
        only_with="expansion",
    )
    expansion_weight: float = setting(
        "weight of the compositionality loss, the mean of 1 - cos between the sentences and their expansions",
        0.0,
        at_least=0,
        only_with="expansion",
    )
    expansion_decontaminate: list[str] = setting(
        "evaluation files or folders, or lists of fingerprints: definitions in them are not used; the sets OnWN and "
        "FNWN of STS 2012 to 2014 are made of WordNet's definitions",
        [],
        only_with="expansion",
        path=True,
    )

    def check(self) -> None:
        """Refuses what does not fit, and puts the default of the share, which depends on the weight, in its place."""
        super().check()
        if self.expansion is None:
            return
        if self.expansion_share is None:
            self.expansion_share = 0.0 if self.expansion_weight > 0 else _SHARE
        if not self.expansion_share and not self.expansion_weight:
            raise UsageError(
                "--expansion changes nothing with a share and a weight of 0",
                remedy="raise one of them, or leave it out",
            )


class ExpansionOfPairs(Extension):
    """Expands the sentences of the pairs; their expansions join as pairs, or draw them towards theirs."""

    settings = ExpansionSettings
    _expander: Expander
    _writer: ExpansionWriter
    _training: ExpandedTraining

    def __init__(self, settings: Any) -> None:
        self._settings = settings
        expander = open_expander(settings, at_least=1)
        assert expander is not None
        self._expander = expander

    @classmethod
    def from_settings(cls, settings: Any) -> ExpansionOfPairs | None:
        """Makes one; None without `expansion`."""
        return None if settings.expansion is None else cls(settings)

    @classmethod
    def inputs(cls, settings: Any) -> list[str]:
        """Lists WordNet's folder and the evaluation sets."""
        folder = wordnet_folder(settings)
        return [] if folder is None else [folder, *settings.expansion_decontaminate]

    def sentences(self, sentences: Iterable[str]) -> Iterator[str]:
        """Streams sentences, and for each the words that its expansion adds, so that the vocabulary learns both."""
        stream = iter(sentences)
        while block := list(islice(stream, _BLOCK)):
            yield from block
            for sentence, expanded in zip(block, self._expander.expand(block), strict=True):
                if expanded != sentence:
                    present = set(sentence.split())
                    yield " ".join(word for word in expanded.split() if word not in present)

    def begin(self, tokenizer: PreTrainedTokenizerFast, scratch: Path) -> None:
        """Makes what expands the sentences of the pairs as they are read."""
        from .training_expansions import ExpansionWriter

        self._writer = ExpansionWriter(
            self._expander,
            tokenizer,
            share=self._settings.expansion_share or 0.0,
            weight=self._settings.expansion_weight,
            seed=self._settings.seed,
            scratch=scratch,
        )

    def read(self, texts: list[str]) -> None:
        """Expands the sentences of the next rows of the pairs."""
        self._writer.add(texts)

    def finish(self) -> Augmentation:
        """Returns the expansions for the trainer."""
        training = self._training = self._writer.finish()
        log(f"{training.num_expanded} sentences expanded; {training.size} join as pairs with their expansions")
        return training

    def results(self) -> dict[str, Any]:
        """Counts the sentences that were expanded, and the pairs that joined."""
        return {"sentences_expanded": self._training.num_expanded, "expansions_joined": self._training.size}

    def card(self) -> dict[str, Any]:
        """Describes the expansion that was trained with."""
        settings = self._settings
        parts = []
        if self._training.size:
            parts.append(f"{self._training.size} pairs of a sentence and its expansion joined the pairs")
        if settings.expansion_weight > 0:
            parts.append(f"compositionality loss of weight {settings.expansion_weight:g}")
        if settings.expansion_decontaminate:
            names = ", ".join(to_path(path).name for path in settings.expansion_decontaminate)
            parts.append(f"without definitions that are in {names}")
        words = f"{SHARE:g} of the words by their definitions in WordNet"
        return {"expansion": f"{'; '.join(parts)} ({words}; Moskvichev and Steyvers)"}
