"""What `--expansion` adds to `train-encoder`: sentences with definitions in the place of some words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from .train_encoder_arguments import Arguments

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from ..studies.expansion.expander import Expander
    from ..studies.expansion.training_expansions import Expansions, ExpansionWriter

_BLOCK = 10_000


def with_definitions(expander: Expander | None, sentences: Iterable[str]) -> Iterator[str]:
    """Streams sentences, and for each the words that its expansion adds, so that the vocabulary learns both."""
    if expander is None:
        yield from sentences
        return
    stream = iter(sentences)
    while block := list(islice(stream, _BLOCK)):
        yield from block
        for sentence, expanded in zip(block, expander.expand(block), strict=True):
            if expanded != sentence:
                present = set(sentence.split())
                yield " ".join(word for word in expanded.split() if word not in present)


def expansion_writer(
    arguments: Arguments, expander: Expander | None, tokenizer: PreTrainedTokenizerFast, scratch: Path
) -> ExpansionWriter | None:
    """Makes what expands the sentences of the pairs as they are read; None without an expander."""
    if expander is None:
        return None
    from ..studies.expansion.training_expansions import ExpansionWriter

    return ExpansionWriter(
        expander,
        tokenizer,
        share=arguments.expansion_share or 0.0,
        everything=arguments.expansion_weight > 0,
        variants=arguments.expansion_variants,
        seed=arguments.seed,
        scratch=scratch,
    )


def described(arguments: Arguments, expansions: Expansions) -> str:
    """Says for the model card what expansion was trained with."""
    parts = []
    if len(expansions.joined):
        parts.append(f"{len(expansions.joined)} pairs of a sentence and its expansion joined the pairs")
    if arguments.expansion_weight > 0:
        parts.append(f"compositionality loss of weight {arguments.expansion_weight:g}")
    if arguments.expansion_decontaminate:
        names = ", ".join(Path(path).name for path in arguments.expansion_decontaminate)
        parts.append(f"without definitions that are in {names}")
    words = f"{arguments.expansion_words:g} of the words by their definitions in WordNet"
    return f"{'; '.join(parts)} ({words}, {expansions.variants} variants; Moskvichev and Steyvers)"
