"""`train-bilingual-vectors`: a bitext to word vectors of both languages in one space."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.cards import write_card
from ..artefacts.folders import check_output, check_same_job, check_unfinished, write_text_whole
from ..artefacts.measurements import Measurement
from ..artefacts.origins import languages_read
from ..artefacts.provenance import fingerprint, write_provenance
from ..errors import InputError, OutputError, UsageError
from ..messages import say
from ..models.sentence_transformers_files import write_module_files
from ..settings import setting, settings_of
from ..tokenization.word_level import DIGITS
from ..training.checkpointed_run import CHECKPOINTS, RECORD, checkpointed_output, end_at_once
from .arguments import parse
from .prepare_reports import check_license

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from ..studies.mining.bilingual_vectors import BilingualTraining
    from ..studies.mining.parallel_examples import ParallelTexts
    from ..tokenization.word_lookup import TokenIds

_PROGRESS = "progress.json"
_UNCHECKED_ON_RESUME = {"output", "overwrite", "resume", "license"}
_SIDES = ("source", "target")


@dataclass
class Arguments:
    """Train bilingual word vectors without word alignments (BilBOWA: Gouws, Bengio and Corrado 2015; paper 002).

    The output has two sentence encoders, source and target: means of word vectors, comparable by cosine.
    """

    bitext: str = setting("bitext folder that `prepare bitext` made (splits train and, if it has one, validation)")
    output: str = setting("the folder to make; the encoders are its subfolders source and target")
    dimension: int = setting("components of a vector", 300)
    epochs: int = setting("passes over the bitext", 10)
    window: int = setting("words on either side that skip-gram predicts at most; each word draws from 1 to so many", 5)
    negatives: int = setting("noise words of skip-gram for each predicted word", 5)
    subsampling: float = setting(
        "skip-gram leaves out occurrences of words whose share of all words is above this, the more the higher it is; "
        "0 for none",
        1e-4,
    )
    aligned_weight: float = setting("weight of the squared distance between the means of aligned sentences", 30.0)
    batch_size: int = setting("sentence pairs in a batch", 256)
    learning_rate: float = setting("learning rate of Adam at the start; it falls to 0 in a straight line", 2e-2)
    digits: str = setting(
        "what becomes of digits: keep, zero (each becomes 0) or remove; the tokenizers do it", "keep"
    )
    lower_case: bool = setting("lower-case all text", True, names=["--lower-case", "--lowercase"])
    vocabulary_size: int = setting(
        "words of each language at most; 0 for all", 0, names=["--vocabulary-size", "--vocab-size"]
    )
    min_frequency: int = setting("a word enters the vocabulary if it occurs so many times", 2)
    max_pairs: int | None = setting("train on a random sample of so many pairs", None)
    seed: int = setting("seed of the sample, the initial vectors, the order and all draws", 0)
    license: str | None = setting(
        "the licence of the vectors for the cards, as the Hub spells it, e.g. apache-2.0 [default: none is claimed]",
        None,
    )
    overwrite: bool = setting("replace an existing output folder", False)
    resume: bool = setting(
        "continue a run that was interrupted, from its last whole epoch, with the same result", False
    )


def main(argv: Sequence[str]) -> None:
    """Runs `train-bilingual-vectors`.

    Raises:
        UsageError: For arguments that do not fit.
        InputError: For a missing or malformed bitext.
        OutputError: If the output is in the way, or the unfinished run had other settings.
    """
    arguments = parse(Arguments, "train-bilingual-vectors", argv)
    check(arguments)
    output = check_output(arguments.output, overwrite=arguments.overwrite)
    # Before the long work, because the staging folder itself refuses only after it.
    check_unfinished(output, overwrite=arguments.overwrite, resume=arguments.resume)
    if end_at_once(output, settings_of(arguments), lambda: _job(arguments)):
        return

    from ..studies.mining.bilingual_vectors import BilingualSettings, BilingualTraining
    from ..studies.mining.parallel_examples import TRAIN, VALIDATION, read_parallel_texts, word_tokenizers

    texts = read_parallel_texts(arguments.bitext, max_pairs=arguments.max_pairs, seed=arguments.seed)
    try:
        tokenizers = word_tokenizers(
            texts,
            lower_case=arguments.lower_case,
            digits=arguments.digits,
            vocabulary_size=arguments.vocabulary_size,
            min_frequency=arguments.min_frequency,
        )
    except InputError as error:
        raise InputError(error.message, path=error.path or arguments.bitext, remedy=error.remedy) from error
    ids = {split: _known_words(texts, tokenizers, split) for split in texts.source}
    fields = BilingualSettings.__dataclass_fields__
    training = BilingualTraining(
        ids[TRAIN],
        (len(tokenizers[0]), len(tokenizers[1])),
        BilingualSettings(**{name: getattr(arguments, name) for name in fields}),
    )
    say(
        f"{len(training):,} pairs; {len(tokenizers[0]):,} and {len(tokenizers[1]):,} words; "
        f"{len(ids[TRAIN][0].ids):,} and {len(ids[TRAIN][1].ids):,} occurrences"
    )
    with checkpointed_output(arguments.output, overwrite=arguments.overwrite, resume=arguments.resume) as staging:
        epochs = _train(arguments, training, texts, ids.get(VALIDATION), staging)
        _write(arguments, texts, training, tokenizers, epochs, staging)
    say(f"the encoders lie in {arguments.output}/source and {arguments.output}/target; filter candidates with")
    say(
        f"  hf-paraphrase mine --source FILE --target FILE --source-encoder {arguments.output}/source "
        f"--target-encoder {arguments.output}/target --output pairs.tsv"
    )


def check(arguments: Arguments) -> None:
    """Refuses arguments that do not fit.

    Raises:
        UsageError: For a value out of range.
    """
    check_license(arguments.license)
    if arguments.digits not in DIGITS:
        raise UsageError(f"--digits `{arguments.digits}` is unknown", remedy=f"one of {', '.join(DIGITS)}")
    for name in ("dimension", "epochs", "window", "negatives", "batch_size", "learning_rate", "min_frequency"):
        if not getattr(arguments, name) > 0:
            raise UsageError(f"--{name.replace('_', '-')} must be above 0, not {getattr(arguments, name)}")
    if arguments.max_pairs is not None and arguments.max_pairs < 1:
        raise UsageError(f"--max-pairs must be above 0, not {arguments.max_pairs}")
    for name in ("subsampling", "aligned_weight", "vocabulary_size", "seed"):
        if not getattr(arguments, name) >= 0:
            raise UsageError(f"--{name.replace('_', '-')} must not be negative, not {getattr(arguments, name)}")


def _job(arguments: Arguments) -> dict[str, Any]:
    """Returns what must be the same for a run to be continued."""
    job = {name: value for name, value in settings_of(arguments).items() if name not in _UNCHECKED_ON_RESUME}
    return {**job, "fingerprint": fingerprint(arguments.bitext)}


def _known_words(
    texts: ParallelTexts, tokenizers: Sequence[PreTrainedTokenizerFast], split: str
) -> tuple[TokenIds, TokenIds]:
    from ..studies.mining.bilingual_vectors import without_unknown
    from ..tokenization.token_lookup import ids_of, lookup_for

    source, target = (
        without_unknown(
            ids_of(tokenizer.backend_tokenizer, side[split], lookup_for(tokenizer.backend_tokenizer)),
            tokenizer.unk_token_id,
        )
        for side, tokenizer in zip((texts.source, texts.target), tokenizers, strict=True)
    )
    return source, target


def _train(
    arguments: Arguments,
    training: BilingualTraining,
    texts: ParallelTexts,
    validation: tuple[TokenIds, TokenIds] | None,
    staging: Path,
) -> list[dict[str, float]]:
    """Trains epoch by epoch, keeps a checkpoint behind each, and lists what was measured."""
    from tqdm.auto import tqdm

    check_same_job(staging / RECORD, _job(arguments))
    folder = staging / CHECKPOINTS
    folder.mkdir(exist_ok=True)
    epochs = _load_checkpoint(folder, training)
    if arguments.resume:
        say(f"resuming after epoch {len(epochs)}" if epochs else "nothing to resume yet")
    total = len(training) * arguments.epochs
    with tqdm(total=total, initial=len(training) * len(epochs), unit=" pairs", unit_scale=True, desc="train") as bar:
        for number in range(len(epochs), arguments.epochs):
            losses = list(training.epoch(number, bar.update))
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
    from ..evaluation.translation_retrieval import translation_retrieval
    from ..studies.mining.parallel_examples import VALIDATION

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
            "the checkpoint of the unfinished run is damaged", path=folder, remedy="start afresh with --overwrite"
        ) from error
    return epochs


def _write(
    arguments: Arguments,
    texts: ParallelTexts,
    training: BilingualTraining,
    tokenizers: Sequence[PreTrainedTokenizerFast],
    epochs: list[dict[str, float]],
    staging: Path,
) -> None:
    import torch

    from ..models.configuration_avg import AvgConfig
    from ..models.modeling_avg import AvgModel
    from ..tokenization.word_level import save_tokenizer

    settings = settings_of(arguments)
    languages = {"source": texts.source_lang, "target": texts.target_lang}
    results: dict[str, Any] = {
        "pairs": len(training),
        "vocabulary": {side: len(item) for side, item in zip(_SIDES, tokenizers, strict=True)},
        "words": {side: len(ids.ids) for side, ids in zip(_SIDES, training.sides, strict=True)},
        "epochs": epochs,
        "retrieval": epochs[-1] if "mean" in epochs[-1] else None,
    }
    card = {
        **settings,
        **results,
        "epochs_asked": arguments.epochs,
        "name": Path(arguments.output).name,
        "source_lang": texts.source_lang,
        "target_lang": texts.target_lang,
        "bitext_name": Path(arguments.bitext).name,
    }
    measured = Measurement(
        task="sentence-similarity",
        dataset=arguments.bitext,
        split="validation",
        metric="precision",
        value=(results["retrieval"] or {}).get("mean"),
        name="precision at 1 (%; nearest sentence of the other language, mean of both directions)",
        task_name="Finding translations",
    )
    both = languages_read(arguments.bitext, english=False) or [item for item in languages.values() if item]
    for place, languages_of_part in (
        *((side, [code] if code else []) for side, code in languages.items()),
        # The last, because its card says that all is written.
        ("", both),
    ):
        folder = staging / place
        if place:
            tokenizer = tokenizers[_SIDES.index(place)]
            table = training.tables[place]
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
            model.save_pretrained(folder)
            save_tokenizer(tokenizer, folder)
            write_module_files(folder, model.config.model_type, model.config.hidden_size)
        write_provenance(
            folder,
            command="train-bilingual-vectors",
            settings=settings,
            inputs=[arguments.bitext],
            results=results,
        )
        values = {**card, "part": place, "languages": languages_of_part}
        write_card(folder, "model_cards", "bilingual_vectors", values, [measured])
