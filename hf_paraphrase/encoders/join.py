"""The command `join`: concatenates averaging encoders into one encoder.

A part may be random vectors of character trigrams, weighted by rarity: the cosines of their means approximate the
cosines of weighted trigram counts with an error of about 1/√components (Johnson and Lindenstrauss 1984).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import xxhash
from numpy.typing import NDArray

from ..artefacts.artefact import Artefact, Card
from ..artefacts.cards import UNKNOWN_LICENSE, check_license
from ..artefacts.hub_models import model_folder
from ..artefacts.provenance import find_earlier_weight, inherited_metadata
from ..data.sentences import SentenceCorpus, naming
from ..data.text_blocks import PLAIN_OR_COMPRESSED
from ..errors import ModelError, UsageError
from ..messages import log
from ..settings import Settings, recipe, seed_setting, setting
from ..tokenization.character_trigram import build_character_trigram_tokenizer, trigram_counts
from .sentence_encoder import SentenceEncoder

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    Part: TypeAlias = tuple[PreTrainedTokenizerFast, NDArray[np.float32]]

BASELINE = "weighted-trigrams"
"""The name of the baseline."""


@dataclass(kw_only=True)
class JoinSettings(Settings):
    """Concatenate averages of token vectors into one encoder, each with a weight in the cosine.

    The cosine of two sentences is then the mean of their cosines by the parts, weighted by `--weights`. The models are
    averages (avg, trigram, and exports of them in integers) with the same number of components. One of them may be
    `weighted-trigrams`: random vectors of character trigrams, weighted down by their frequency in --text, which match
    exact names, numbers and rare words. A model that skips unknown words skips them also if it finds no other word.
    """

    model: list[str] = setting("averages: folders, namespace/name on the Hub, and once weighted-trigrams", path=True)
    output: str = setting("output folder; it appears only when complete")
    weights: list[float] = setting(
        "weight of each model in the cosine, in their order; the sum does not matter [default: equal]", [], above=0
    )
    text: list[str] = setting(
        f"text for weighted-trigrams: text files, one sentence per line, {PLAIN_OR_COMPRESSED}, and data folders "
        "(split train)",
        [],
        path=True,
        dataset=True,
    )
    vocab_size: int = setting(
        "maximum number of trigrams of weighted-trigrams (the most frequent ones); 0 for all",
        100_000,
        at_least=0,
        formerly="vocabulary_size",
    )
    frequency_constant: float = setting(
        "a in the weight a / (a + p) of each trigram of weighted-trigrams, p its relative frequency in --text",
        0.001,
        above=0,
    )
    seed: int = seed_setting("random seed of weighted-trigrams")
    license: str | None = setting(
        "license of the encoder for its card, as the Hub spells it, e.g. cc-by-4.0 [default: the common license of "
        "the models]",
        None,
    )
    overwrite: bool = setting("replace an existing output folder", False)

    def check(self) -> None:
        """Check that the settings fit together."""
        super().check()
        check_license(self.license)
        if len(self.model) < 2:
            raise UsageError("join: fewer than two models", remedy="give --model DIR DIR…")
        if len(set(self.model)) < len(self.model):
            raise UsageError("--model names a model twice", remedy="give it more weight instead")
        if self.weights and len(self.weights) != len(self.model):
            what = f"--weights has {len(self.weights)} weights for {len(self.model)} models"
            raise UsageError(what, remedy="give one for each")
        if bool(self.text) != (BASELINE in self.model):
            raise UsageError(f"--text and --model {BASELINE} need each other", remedy="give both, or leave both out")


@recipe(JoinSettings)
def join(settings: JoinSettings) -> SentenceEncoder:
    """Concatenate averages of token vectors into one encoder and write its folder, with card and record."""
    from .backends.torch_module import write_model_files
    from .model_folder import collect_card_values, count_sizes, find_card_name

    folders = {name: model_folder(name) for name in settings.model if name != BASELINE}
    inputs = [*folders, *settings.text]
    with Artefact(settings.output, command="join", settings=settings, inputs=inputs) as artefact:
        averages = {name: _open_average(folder) for name, folder in folders.items()}
        sizes = {name: table.shape[1] for name, (_, table) in averages.items()}
        size, *others = set(sizes.values())
        if others:
            listed = ", ".join(f"{size} ({name})" for name, size in sizes.items())
            raise UsageError(
                f"the vectors of the models have different numbers of components: {listed}",
                remedy="join models of one size; those trained for it can be truncated by "
                "SentenceEncoder.from_pretrained(DIR, truncate_dim=N).save_pretrained(…)",
            )
        if settings.text:
            corpora = [SentenceCorpus(source) for source in settings.text]
            with naming(settings.text[0]):
                averages[BASELINE] = make_random_trigrams(
                    (text for corpus in corpora for block in corpus.blocks() for text in block if text),
                    dimension=size,
                    max_size=settings.vocab_size or None,
                    constant=settings.frequency_constant,
                    seed=settings.seed,
                )
        parts = [averages[name] for name in settings.model]
        weights = list(settings.weights) or [1.0] * len(parts)
        model, tokenizer = _concatenate(parts, weights)
        write_model_files(artefact.staging, model, tokenizer)
        names = [name if name == BASELINE else find_card_name(folders[name]) for name in settings.model]
        described = [
            {"name": name, "vectors": len(table), "share": weight / sum(weights)}
            for name, (_, table), weight in zip(names, parts, weights, strict=True)
        ]
        metadata = [inherited_metadata(folder) for folder in folders.values()]
        licenses = {license for entry in metadata for license in entry["license"] or [UNKNOWN_LICENSE]}
        card = {
            **collect_card_values(model, Path(settings.output).name),
            "languages": list(dict.fromkeys(language for entry in metadata for language in entry["language"])),
            "parts": [tuple(part.values()) for part in described],
            "baseline": BASELINE,
            "seed": settings.seed,
            "model_license": settings.license or (licenses.pop() if len(licenses) == 1 else None),
        }
        results = {"parts": described, **count_sizes(model)}
        earlier = [weight for folder in folders.values() if (weight := find_earlier_weight(folder, "subword_weight"))]
        results |= {"subword_weight": max(earlier)} if earlier else {}
        artefact.finish(results=results, card=Card("joined_encoder", card, kind="model_cards"))
    log(f"{settings.output}: {' + '.join(names)}, {size} components each")
    return SentenceEncoder.from_pretrained(settings.output)


def _open_average(folder: Path) -> Part:
    """Open the tokenizer and the table of an average."""
    from ..models.modeling_avg import AvgModel

    encoder = SentenceEncoder.from_pretrained(folder)
    if type(encoder.model) is not AvgModel or encoder.tokenizer.pad_token is None:
        what = f"{type(encoder.model).__name__} is not an average of one table of vectors with a padding token"
        raise ModelError(what, path=folder, remedy="give folders of avg or trigram")
    config = encoder.model.config
    rows = 1 + max(encoder.tokenizer.get_vocab().values())
    table = encoder.model.embeddings.detach().numpy()[:rows].copy()
    if config.skip_unknown and config.unk_token_id < rows:
        # `ConcatenationModel` normalizes each mean, so adding zeros equals leaving the token out.
        table[config.unk_token_id] = 0.0
    return encoder.tokenizer, table


def _concatenate(parts: list[Part], weights: list[float]) -> tuple[Any, Any]:
    """Make the model and the tokenizer of the concatenation."""
    import torch

    from ..models.configurations import ConcatenationConfig
    from ..models.modeling_concatenation import ConcatenationModel
    from ..models.tokenization_concatenation import ConcatenationTokenizer

    tokenizers, tables = zip(*parts, strict=True)
    first = tokenizers[0]
    tokenizer = ConcatenationTokenizer(parts=list(tokenizers), pad_token=first.pad_token, unk_token=first.unk_token)
    config = ConcatenationConfig(
        vocab_sizes=tokenizer.part_sizes,
        part_size=tables[0].shape[1],
        pad_token_id=tokenizer.pad_token_id,
        part_weights=weights,
    )
    with torch.device("meta"):
        model = ConcatenationModel(config)
    model.load_state_dict({"embeddings": torch.from_numpy(np.concatenate(tables))}, assign=True)
    return model.eval(), tokenizer


def make_random_trigrams(
    sentences: Iterable[str], *, dimension: int, max_size: int | None, constant: float, seed: int = 0
) -> Part:
    """Make a tokenizer over the most frequent trigrams of a text, and a random vector for each of them, by its id.

    The vector of a trigram is normal with a variance of 1/dimension, times a / (a + p), with the `constant` a and the
    relative frequency p of the trigram. Its direction depends only on the trigram and the seed.
    """
    counts = trigram_counts(sentences, max_size=max_size)
    total = max(1, sum(counts.values()))
    tokenizer = build_character_trigram_tokenizer(counts, skip_unknown=True)
    ids = tokenizer.get_vocab()
    table = np.zeros((len(ids), dimension), np.float32)
    for trigram, count in counts.items():
        weight = constant / (constant + count / total)
        table[ids[trigram]] = weight / dimension**0.5 * draw_random_vector(trigram, dimension, seed)
    return tokenizer, table


def draw_random_vector(text: str, dimension: int, seed: int = 0) -> NDArray[np.float64]:
    """Draw standard normal numbers (dimension,) that depend only on a text and a seed."""
    generator = np.random.Generator(np.random.PCG64(xxhash.xxh64_intdigest(text.encode(), seed=seed)))
    return generator.standard_normal(dimension)
