"""The recipe of the verb `train-bilingual-vectors`: a bitext in, word vectors of both languages in one space out."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...artefacts.card_heads import Measurement
from ...artefacts.cards import Card, write_card
from ...artefacts.files import quiet_transformers, write_text_whole
from ...artefacts.provenance import languages_read, write_provenance
from ...artefacts.remote_paths import to_path
from ...artefacts.weights import check_finite
from ...encoders.sentence_encoder import SentenceEncoder
from ...errors import OutputError
from ...evaluation.translation_retrieval import translation_retrieval
from ...messages import log
from ...models.sentence_transformers_files import write_module_files
from ...settings import recipe, setting
from ...tokenization.token_lookup import ids_of, lookup_for
from ...tokenization.word_level import save_tokenizer
from ...training.run import TrainingRun
from .parallel_examples import TRAIN, VALIDATION, ParallelTextSettings

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from ...tokenization.token_ids import TokenIds
    from .bilingual_vectors import BilingualTraining
    from .parallel_examples import ParallelTexts

_PROGRESS = "progress.json"
_SIDES = ("source", "target")


@dataclass(kw_only=True)
class BilingualVectorSettings(ParallelTextSettings):
    """Train bilingual word vectors without word alignments (BilBOWA: Gouws, Bengio and Corrado 2015; paper 002).

    The output has two sentence encoders, source and target: means of word vectors, comparable by cosine.
    """

    dimension: int = setting("components of a vector", 300, above=0)
    epochs: int = setting("passes over the bitext", 10, above=0)
    window: int = setting(
        "words on either side that skip-gram predicts at most; each word draws from 1 to so many", 5, above=0
    )
    negatives: int = setting("noise words of skip-gram for each predicted word", 5, above=0)
    subsampling: float = setting(
        "skip-gram leaves out occurrences of words whose share of all words is above this, the more the higher it is; "
        "0 for none",
        1e-4,
        at_least=0,
    )
    aligned_weight: float = setting(
        "weight of the squared distance between the means of aligned sentences", 30.0, at_least=0
    )
    batch_size: int = setting("sentence pairs in a batch", 256, above=0)
    learning_rate: float = setting(
        "learning rate of Adam at the start; it falls to 0 in a straight line", 2e-2, above=0
    )


@recipe(BilingualVectorSettings)
def train_bilingual_vectors(settings: BilingualVectorSettings) -> tuple[SentenceEncoder, SentenceEncoder]:
    """Trains word vectors of two languages in one space, without word alignments (BilBOWA: Gouws et al. 2015).

    Returns:
        The sentence encoders of the source and of the target language.
    """
    with TrainingRun(settings, command="train-bilingual-vectors", inputs=[settings.bitext]) as run:
        if not run.is_finished:
            _train(settings, run)
    source, target = (SentenceEncoder.from_pretrained(Path(settings.output) / side) for side in _SIDES)
    return source, target


def _train(settings: BilingualVectorSettings, run: TrainingRun) -> None:
    from .bilingual_vectors import BilingualSettings, BilingualTraining

    texts = settings.texts()
    with settings.naming_the_bitext():
        tokenizers = settings.tokenizers(texts)
    ids = {split: _known_words(texts, tokenizers, split) for split in texts.source}
    training = BilingualTraining(
        ids[TRAIN],
        (len(tokenizers[0]), len(tokenizers[1])),
        BilingualSettings(**{name: getattr(settings, name) for name in BilingualSettings.__dataclass_fields__}),
    )
    log(
        f"{len(training):,} pairs; {len(tokenizers[0]):,} and {len(tokenizers[1]):,} words; "
        f"{len(ids[TRAIN][0].ids):,} and {len(ids[TRAIN][1].ids):,} occurrences"
    )
    epochs = _epochs(settings, training, texts, ids.get(VALIDATION), run)
    _write(settings, texts, training, tokenizers, epochs, run)
    log(f"encoders saved to {settings.output}/source and {settings.output}/target. Mine candidates with:")
    log(
        f"  hf-paraphrase mine --source FILE --target FILE --source-encoder {settings.output}/source "
        f"--target-encoder {settings.output}/target --output pairs.tsv"
    )


def _known_words(
    texts: ParallelTexts, tokenizers: Sequence[PreTrainedTokenizerFast], split: str
) -> tuple[TokenIds, TokenIds]:
    from .bilingual_vectors import without_unknown

    source, target = (
        without_unknown(
            ids_of(tokenizer.backend_tokenizer, side[split], lookup_for(tokenizer.backend_tokenizer)),
            tokenizer.unk_token_id,
        )
        for side, tokenizer in zip((texts.source, texts.target), tokenizers, strict=True)
    )
    return source, target


def _epochs(
    settings: BilingualVectorSettings,
    training: BilingualTraining,
    texts: ParallelTexts,
    validation: tuple[TokenIds, TokenIds] | None,
    run: TrainingRun,
) -> list[dict[str, float]]:
    """Trains epoch by epoch, keeps a checkpoint behind each, and lists what was measured."""
    from tqdm.auto import tqdm

    folder = run.begin()
    epochs = _load_checkpoint(folder, training)
    if settings.resume:
        log(f"resuming after epoch {len(epochs)}" if epochs else "nothing to resume yet")
    total = len(training) * settings.epochs
    with tqdm(total=total, initial=len(training) * len(epochs), unit=" pairs", unit_scale=True, desc="train") as bar:
        for number in range(len(epochs), settings.epochs):
            losses = list(training.epoch(number, bar.update))
            check_finite(training.tables)
            entry: dict[str, float] = {"epoch": number + 1}
            for part in ("source", "target", "aligned"):
                entry[part] = sum(getattr(loss, part) for loss in losses) / len(losses)
            if validation is not None:
                entry |= _retrieval(training, texts, validation)
            epochs.append(entry)
            _save_checkpoint(folder, training, epochs)
            tqdm.write(_line(entry), file=sys.stderr)
    return epochs


def _retrieval(
    training: BilingualTraining, texts: ParallelTexts, validation: tuple[TokenIds, TokenIds]
) -> dict[str, float]:
    source, target = (training.sentence_sums(side, ids) for side, ids in zip(_SIDES, validation, strict=True))
    return asdict(translation_retrieval(texts.source[VALIDATION], texts.target[VALIDATION], source, target))


def _line(entry: dict[str, float]) -> str:
    line = f"epoch {entry['epoch']}: skip-gram {entry['source']:.2f} and {entry['target']:.2f}, "
    line += f"distance of means {entry['aligned']:.4f}"
    if "mean" in entry:
        line += f"; finds {entry['mean']:.2f} % of the translations among {entry['pairs']:,}"
    return line


def _save_checkpoint(folder: Path, training: BilingualTraining, epochs: list[dict[str, float]]) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    path = folder / f"epoch-{len(epochs)}.safetensors"
    try:
        save_file(training.state(), path)
    except (OSError, SafetensorError) as error:
        raise OutputError(f"cannot write the checkpoint: {error}", path=path) from error
    # From here on a resumed run starts from the new file; until here it started from the old one.
    write_text_whole(folder / _PROGRESS, json.dumps(epochs, indent=2) + "\n")
    for old in folder.glob("epoch-*.safetensors"):
        if old != path:
            old.unlink()


def _load_checkpoint(folder: Path, training: BilingualTraining) -> list[dict[str, float]]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    record = folder / _PROGRESS
    if not record.is_file():
        return []
    try:
        epochs: list[dict[str, float]] = json.loads(record.read_text(encoding="utf-8"))
        training.load_state(load_file(folder / f"epoch-{len(epochs)}.safetensors"))
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise OutputError(
            "the checkpoint of the incomplete run is damaged",
            path=folder,
            remedy="start from scratch with --overwrite",
        ) from error
    return epochs


def _write(
    settings: BilingualVectorSettings,
    texts: ParallelTexts,
    training: BilingualTraining,
    tokenizers: Sequence[PreTrainedTokenizerFast],
    epochs: list[dict[str, float]],
    run: TrainingRun,
) -> None:
    import torch

    from ...models.configuration_avg import AvgConfig
    from ...models.modeling_avg import AvgModel

    languages = {"source": texts.source_lang, "target": texts.target_lang}
    results: dict[str, Any] = {
        "pairs": len(training),
        "vocabulary": {side: len(item) for side, item in zip(_SIDES, tokenizers, strict=True)},
        "words": {side: len(ids.ids) for side, ids in zip(_SIDES, training.sides, strict=True)},
        "epochs": epochs,
        "retrieval": epochs[-1] if "mean" in epochs[-1] else None,
    }
    card = {
        "epochs_asked": settings.epochs,
        "source_lang": texts.source_lang,
        "target_lang": texts.target_lang,
        "bitext_name": to_path(settings.bitext).name,
    }
    measured = Measurement(
        task="sentence-similarity",
        dataset=settings.bitext,
        split="validation",
        metric="precision",
        value=(results["retrieval"] or {}).get("mean"),
        name="precision at 1 (%; nearest sentence of the other language, mean of both directions)",
        task_name="Finding translations",
    )
    for side, tokenizer in zip(_SIDES, tokenizers, strict=True):
        folder, table = run.folder / side, training.tables[side]
        model = AvgModel(
            AvgConfig(
                vocab_size=len(table),
                hidden_size=table.shape[1],
                pad_token_id=tokenizer.pad_token_id,
                unk_token_id=tokenizer.unk_token_id,
                skip_unknown=True,
            )
        )
        with torch.no_grad():
            model.embeddings.copy_(table)
        with quiet_transformers():
            model.save_pretrained(folder)
        save_tokenizer(tokenizer, folder)
        write_module_files(folder, model.config.model_type, model.config.hidden_size)
        recorded = settings.record()
        artefact = run.artefact
        write_provenance(
            folder, command=artefact.command, settings=recorded, inputs=artefact.fingerprints, results=results
        )
        values = {**recorded, **results, "name": Path(settings.output).name, **card}
        of_side = [languages[side]] if languages[side] else []
        values |= {"part": side, "languages": of_side}
        write_card(folder, Card("bilingual_vectors", values, "model_cards", [measured]))
    both = languages_read(settings.bitext, english=False) or [item for item in languages.values() if item]
    run.write(
        results=results,
        template="bilingual_vectors",
        card={**card, "part": "", "languages": both},
        measurements=[measured],
    )
