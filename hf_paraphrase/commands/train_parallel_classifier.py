"""`train-parallel-classifier`: a bitext to a classifier that tells whether two sentences are translations."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.cards import write_card
from ..artefacts.folders import check_output, check_unfinished, staging_path
from ..artefacts.foreign_files import check_plain_folder
from ..artefacts.measurements import Measurement
from ..artefacts.origins import languages_read
from ..artefacts.provenance import write_provenance
from ..errors import InputError, ModelError, UsageError
from ..messages import is_main_process, say
from ..settings import setting, settings_of
from ..tokenization.word_level import DIGITS
from ..training.checkpointed_run import (
    CHECKPOINTS,
    checkpointed_output,
    end_at_once,
    find_checkpoint,
    job_of,
    train_from,
)
from .arguments import parse
from .prepare_reports import check_license

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from ..encoders.sentence_encoder import SentenceEncoder
    from ..studies.mining.parallel_examples import ParallelExamples, ParallelTexts
    from ..studies.mining.parallel_trainer import ParallelTrainer
    from ..training.word_vectors import Coverage


@dataclass
class Arguments:
    """Train a classifier of parallel sentences (paper 002: Grégoire and Langlais 2017).

    Every pair of the bitext is an example of label 1, with --negatives other target sentences as examples of label 0.
    With an encoder, most of these come from the n-best list of the source sentence, which is what the paper proposes
    for classifiers that meet filtered candidates. The epoch with the best F1 on the split validation is kept.
    """

    bitext: str = setting("bitext folder that `prepare bitext` made (splits train and, if it has one, validation)")
    output: str = setting("the model folder to make")
    negatives: int = setting("pairs that are not parallel for each that is, drawn anew in each epoch", 5)
    encoder: str | None = setting(
        "model folder of a sentence encoder for both languages, by whose cosine the n-best lists are made; without "
        "one all negatives are random",
        None,
    )
    source_encoder: str | None = setting("instead of --encoder: the encoder of the source side", None)
    target_encoder: str | None = setting("instead of --encoder: the encoder of the target side", None)
    n_best: int = setting("target sentences in the n-best list of a source sentence", 40)
    hard_negatives: float = setting("share of the negatives that come from the n-best list, from 0 to 1", 0.8)
    digits: str = setting(
        "what becomes of digits: keep, zero (each becomes 0) or remove; the tokenizers do it", "keep"
    )
    lower_case: bool = setting("lower-case all text", True, names=["--lower-case", "--lowercase"])
    vocabulary_size: int = setting(
        "words of each language at most, those of the training part; 0 for all",
        0,
        names=["--vocabulary-size", "--vocab-size"],
    )
    min_frequency: int = setting("a word enters the vocabulary if it occurs so many times in the training part", 2)
    score_layer: str = setting(
        "bilinear (the paper) or product_difference (a hidden layer over the product and the absolute difference of "
        "the sentence vectors, the authors' later code)",
        "bilinear",
    )
    share_rnn: bool = setting("read both languages with the same recurrent weights (the authors' later code)", False)
    initial_vectors: str | None = setting(
        "folder of word vectors to start from, as `train-bilingual-vectors` makes it [default: random ones]", None
    )
    embedding_size: int | None = setting(
        "components of a word vector [default: as the initial vectors, else 300]", None
    )
    hidden_size: int = setting("components of the recurrent state in each direction", 200)
    score_hidden_size: int = setting("size of the hidden layer of --score-layer product_difference", 128)
    epochs: int = setting("passes over the parallel pairs", 10)
    batch_size: int = setting(
        "labelled pairs in a batch on each process; one in 1 + --negatives of them is parallel", 128
    )
    learning_rate: float = setting("learning rate of Adam, constant", 2e-4)
    max_grad_norm: float = setting("clip the norm of the gradient to this; 0 does not clip", 5.0)
    dropout: float = setting("probability to drop a component of a word vector or of a sentence vector", 0.0)
    max_pairs: int | None = setting("train on a random sample of so many pairs", None)
    seed: int = setting("seed of the sample, the initial weights, the order, the negatives and dropout", 0)
    report_to: str = setting("where the Trainer logs to, e.g. tensorboard; none for nowhere", "none")
    license: str | None = setting(
        "the licence of the model for the card, as the Hub spells it, e.g. apache-2.0 [default: none is claimed]", None
    )
    overwrite: bool = setting("replace an existing output folder", False)
    resume: bool = setting("continue a run that was interrupted, with the same result", False)


def main(argv: Sequence[str]) -> None:
    """Runs `train-parallel-classifier`.

    Raises:
        UsageError: For arguments that do not fit.
        InputError: For a missing or malformed bitext.
        ModelError: For an encoder that cannot be opened.
        OutputError: If the output is in the way, or the unfinished run had other settings.
    """
    arguments = parse(Arguments, "train-parallel-classifier", argv)
    check(arguments)
    output = check_output(arguments.output, overwrite=arguments.overwrite)
    if is_main_process():
        # Before the long work, because the staging folder itself refuses only after it.
        check_unfinished(output, overwrite=arguments.overwrite, resume=arguments.resume)
    settings = settings_of(arguments)
    if end_at_once(output, settings, lambda: job_of(settings, _inputs(arguments))):
        return

    from ..studies.mining.parallel_examples import ParallelExamples, read_parallel_texts, word_tokenizers

    encoders = _encoders(arguments)
    texts = read_parallel_texts(arguments.bitext, max_pairs=arguments.max_pairs, seed=arguments.seed)
    try:
        tokenizers = word_tokenizers(
            texts,
            lower_case=arguments.lower_case,
            digits=arguments.digits,
            vocabulary_size=arguments.vocabulary_size,
            min_frequency=arguments.min_frequency,
        )
        examples = ParallelExamples.encode(texts, *tokenizers)
    except InputError as error:
        raise InputError(error.message, path=error.path or arguments.bitext, remedy=error.remedy) from error
    _tell(examples, tokenizers)
    candidates = None
    if encoders is not None:
        from ..studies.mining.training_candidates import nearest_targets

        show = is_main_process()
        candidates = nearest_targets(examples, encoders[0], encoders[1], arguments.n_best, show_progress_bar=show)
        # They are not needed any more, and their word vectors take room.
        encoders = None
    model, coverage = _model(arguments, texts, tokenizers, examples)
    if not is_main_process():
        _train(arguments, model, examples, candidates, staging_path(output))
        return
    with checkpointed_output(arguments.output, overwrite=arguments.overwrite, resume=arguments.resume) as staging:
        trainer = _train(arguments, model, examples, candidates, staging)
        _write(arguments, texts, trainer, tokenizers, coverage, staging)
    say(f"the classifier lies in {arguments.output}; with an encoder that finds candidates it scores them:")
    say(
        "  hf-paraphrase mine --source FILE --target FILE --encoder DIR "
        f"--classifier {arguments.output} --output pairs.tsv"
    )


def check(arguments: Arguments) -> None:
    """Refuses arguments that do not fit.

    Raises:
        UsageError: For a value out of range, and for one that another argument excludes.
    """
    check_license(arguments.license)
    for name, allowed in (("digits", DIGITS), ("score_layer", ("bilinear", "product_difference"))):
        value = getattr(arguments, name)
        if value not in allowed:
            raise UsageError(f"--{name.replace('_', '-')} `{value}` is unknown", remedy=f"one of {', '.join(allowed)}")
    positive = ("negatives", "n_best", "min_frequency", "embedding_size", "hidden_size", "score_hidden_size", "epochs")
    for name in (*positive, "batch_size", "learning_rate", "max_pairs"):
        value = getattr(arguments, name)
        if value is not None and not value > 0:
            raise UsageError(f"--{name.replace('_', '-')} must be above 0, not {value}")
    for name in ("vocabulary_size", "max_grad_norm", "seed"):
        if not getattr(arguments, name) >= 0:
            raise UsageError(f"--{name.replace('_', '-')} must not be negative, not {getattr(arguments, name)}")
    if not 0 <= arguments.dropout < 1:
        raise UsageError("--dropout must be at least 0 and below 1")
    if not 0 <= arguments.hard_negatives <= 1:
        raise UsageError(f"--hard-negatives must be between 0 and 1, not {arguments.hard_negatives}")
    check_encoders(arguments.encoder, arguments.source_encoder, arguments.target_encoder)
    if arguments.encoder is None and arguments.source_encoder is None:
        for name in ("n_best", "hard_negatives"):
            if getattr(arguments, name) != Arguments.__dataclass_fields__[name].default:
                raise UsageError(
                    f"--{name.replace('_', '-')} is for n-best lists, and there is no encoder to make them",
                    remedy="give --encoder, or --source-encoder and --target-encoder",
                )
    if arguments.score_layer == "bilinear" and arguments.score_hidden_size != 128:
        raise UsageError("--score-hidden-size is for --score-layer product_difference", remedy="leave it out")


def check_encoders(encoder: str | None, source_encoder: str | None, target_encoder: str | None) -> None:
    """Refuses half a pair of encoders, and a pair beside a single one.

    Raises:
        UsageError: For both.
    """
    if encoder is not None and (source_encoder is not None or target_encoder is not None):
        raise UsageError(
            "--encoder is for both sides, --source-encoder and --target-encoder for one each", remedy="give one or two"
        )
    if (source_encoder is None) != (target_encoder is None):
        raise UsageError("--source-encoder and --target-encoder go together", remedy="give both, or --encoder")


def _encoders(arguments: Arguments) -> list[SentenceEncoder] | None:
    """Opens the encoders of both sides; None without any."""
    from ..encoders.sentence_encoder import SentenceEncoder

    if arguments.encoder is not None:
        return [SentenceEncoder.from_pretrained(arguments.encoder)] * 2
    if arguments.source_encoder is None or arguments.target_encoder is None:
        return None
    return [SentenceEncoder.from_pretrained(path) for path in (arguments.source_encoder, arguments.target_encoder)]


def _tell(examples: ParallelExamples, tokenizers: Sequence[PreTrainedTokenizerFast]) -> None:
    from ..studies.mining.parallel_examples import VALIDATION

    counts = ", ".join(f"{len(pairs):,} pairs {split}" for split, pairs in examples.pairs.items())
    sizes = " and ".join(f"{len(tokenizer):,}" for tokenizer in tokenizers)
    say(f"{counts}; {sizes} words; {examples.target.trained:,} different target sentences to draw negatives from")
    if examples.dropped:
        say(f"{examples.dropped:,} pairs with a side without words left out")
    if VALIDATION not in examples.pairs:
        say("no split validation: the last epoch will be kept")


def _model(
    arguments: Arguments,
    texts: ParallelTexts,
    tokenizers: Sequence[PreTrainedTokenizerFast],
    examples: ParallelExamples,
) -> tuple[PreTrainedModel, list[Coverage]]:
    """Makes the classifier with its initial vectors, and tells for each side how many words have one."""
    import torch
    from transformers import set_seed

    from ..models.configuration_parallel_bigru import ParallelBiGruConfig
    from ..models.modeling_parallel_bigru import ParallelBiGruModel

    tables = [] if arguments.initial_vectors is None else _initial_vectors(arguments, tokenizers, examples)
    source, target = tokenizers
    set_seed(arguments.seed)
    model = ParallelBiGruModel(
        ParallelBiGruConfig(
            source_vocab_size=len(source),
            target_vocab_size=len(target),
            embedding_size=tables[0][0].shape[1] if tables else arguments.embedding_size or 300,
            hidden_size=arguments.hidden_size,
            score_layer=arguments.score_layer,
            score_hidden_size=arguments.score_hidden_size,
            share_rnn=arguments.share_rnn,
            pad_token_id=source.pad_token_id,
            unk_token_id=source.unk_token_id,
            dropout=arguments.dropout,
            source_lang=texts.source_lang or None,
            target_lang=texts.target_lang or None,
        )
    )
    with torch.no_grad():
        for embeddings, (matrix, _) in zip((model.source_embeddings, model.target_embeddings), tables, strict=False):
            embeddings.copy_(torch.from_numpy(matrix))
    return model, [coverage for _, coverage in tables]


def _initial_vectors(
    arguments: Arguments, tokenizers: Sequence[PreTrainedTokenizerFast], examples: ParallelExamples
) -> list[tuple[NDArray[Any], Coverage]]:
    """Reads the initial vectors of both sides, (words, dim) each, and how many words have one."""
    import numpy as np

    from ..encoders.encoder_vocabulary import start_embeddings
    from ..encoders.initial_vectors import read_initial_vectors

    assert arguments.initial_vectors is not None
    check_plain_folder(arguments.initial_vectors, ModelError)
    tables: list[tuple[NDArray[Any], Coverage]] = []
    for name, tokenizer, side in zip(
        ("source", "target"), tokenizers, (examples.source, examples.target), strict=True
    ):
        folder = Path(arguments.initial_vectors) / name
        if not folder.is_dir():
            raise InputError(
                f"no vectors of the {name} side",
                path=folder,
                remedy="give a folder that hf-paraphrase train-bilingual-vectors made",
            )
        vectors = read_initial_vectors(folder, list(tokenizer.get_vocab()), first=0)
        size = vectors.matrix.shape[1]
        if arguments.embedding_size not in (None, size) or (tables and tables[0][0].shape[1] != size):
            wanted = tables[0][0].shape[1] if tables else arguments.embedding_size
            raise UsageError(
                f"the initial vectors have {size} components, not {wanted}",
                path=folder,
                remedy="leave --embedding-size out, and give two sides of one size",
            )
        counts = np.bincount(side.ids.ids, minlength=len(tokenizer))
        matrix, coverage = start_embeddings(tokenizer, vectors, counts, dimension=size, seed=arguments.seed)
        say(f"initial vectors of the {name} side: {coverage}")
        tables.append((matrix, coverage))
    return tables


def _train(
    arguments: Arguments,
    model: PreTrainedModel,
    examples: ParallelExamples,
    candidates: NDArray[Any] | None,
    staging: Path,
) -> ParallelTrainer:
    import torch
    from tqdm.auto import tqdm

    from ..studies.mining.parallel_examples import NegativeDraw
    from ..studies.mining.parallel_trainer import ParallelTrainer, ParallelTrainingArguments

    training_arguments = ParallelTrainingArguments(
        output_dir=str(staging / CHECKPOINTS),
        num_train_epochs=float(arguments.epochs),
        per_device_train_batch_size=arguments.batch_size,
        learning_rate=arguments.learning_rate,
        max_grad_norm=arguments.max_grad_norm,
        negatives=arguments.negatives,
        seed=arguments.seed,
        report_to=arguments.report_to,
        use_cpu=not torch.accelerator.is_available(),
    )
    checkpoint = find_checkpoint(staging, settings_of(arguments), _inputs(arguments))
    trainer = ParallelTrainer(
        model,
        training_arguments,
        examples,
        NegativeDraw(examples, arguments.negatives, candidates=candidates, hard_share=arguments.hard_negatives),
        report=lambda text: tqdm.write(text, file=sys.stderr),
    )
    train_from(trainer, checkpoint)
    return trainer


def _write(
    arguments: Arguments,
    texts: ParallelTexts,
    trainer: ParallelTrainer,
    tokenizers: Sequence[PreTrainedTokenizerFast],
    coverage: Sequence[Coverage],
    staging: Path,
) -> None:
    from ..studies.mining.parallel_classification import SOURCE_TOKENIZER, TARGET_TOKENIZER
    from ..tokenization.word_level import save_tokenizer

    trainer.model.save_pretrained(staging)
    for name, tokenizer in zip((SOURCE_TOKENIZER, TARGET_TOKENIZER), tokenizers, strict=True):
        save_tokenizer(tokenizer, staging / name)
    examples, kept = trainer.examples, trainer.best_scores()
    results: dict[str, Any] = {
        "dev": kept,
        "best_epoch": None if kept is None else kept["epoch"],
        "epochs": trainer.scores(),
        "pairs": {split: len(pairs) for split, pairs in examples.pairs.items()},
        "pairs_dropped": examples.dropped,
        "target_sentences": examples.target.trained,
        "coverage": {side: vars(item) for side, item in zip(("source", "target"), coverage, strict=False)} or None,
        "steps": trainer.state.global_step,
        "parameters": sum(item.numel() for item in trainer.model.parameters()),
    }
    settings = settings_of(arguments)
    write_provenance(
        staging,
        command="train-parallel-classifier",
        settings=settings,
        inputs=_inputs(arguments),
        results=results,
    )
    languages = languages_read(arguments.bitext, english=False)
    measured = Measurement(
        task="text-classification",
        dataset=arguments.bitext,
        split="validation",
        metric="f1",
        value=None if kept is None else kept.get("best_f1"),
        name="F1 (%; at the best threshold, with the negatives of training; it chose the epoch)",
        task_name="Telling translations from other sentences",
    )
    write_card(
        staging,
        "model_cards",
        "parallel_bigru",
        {
            **settings,
            **results,
            "epochs_asked": arguments.epochs,
            "name": Path(arguments.output).name,
            "languages": languages or [item for item in (texts.source_lang, texts.target_lang) if item],
            "bitext_name": Path(arguments.bitext).name,
            "encoder_names": [Path(item).name for item in _encoder_folders(arguments)],
            "vectors_name": Path(arguments.initial_vectors).name if arguments.initial_vectors else "random",
            "config": trainer.model.config.to_dict(),
        },
        [measured],
    )


def _inputs(arguments: Arguments) -> list[str]:
    vectors = [] if arguments.initial_vectors is None else [arguments.initial_vectors]
    return [arguments.bitext, *_encoder_folders(arguments), *vectors]


def _encoder_folders(arguments: Arguments) -> list[str]:
    encoders = (arguments.encoder, arguments.source_encoder, arguments.target_encoder)
    return [item for item in encoders if item is not None]
