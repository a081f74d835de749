"""The command `train-parallel-classifier`: trains a classifier of parallel sentences on a bitext."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...artefacts.card_metadata import Measurement
from ...artefacts.fsspec_path import to_path
from ...artefacts.provenance import languages_read
from ...classification.parallel_classifier import SOURCE_TOKENIZER, TARGET_TOKENIZER, ParallelClassifier
from ...classification.train import save_classifier
from ...data.sentences import naming
from ...encoders.sentence_encoder import SentenceEncoder
from ...errors import InputError
from ...messages import is_main_process, log
from ...mining.candidates import EncoderPairSettings, open_pair
from ...settings import recipe, setting
from ...training.run import TrainingRun, TrainingRunSettings
from ...vectors.exact_search import find_nearest
from .parallel_examples import (
    HARD_SHARE,
    NOTHING,
    VALIDATION,
    NegativeDraw,
    ParallelExamples,
    ParallelTextSettings,
    languages_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from ...training.word_vectors import WordVectors

N_BEST = 40
"""Target sentences in the n-best list of a source sentence, as the candidates of the paper's filter."""
_SPARE = 8
"""Extra nearest targets to search for, because known translations are removed."""


@dataclass(kw_only=True)
class ParallelClassifierSettings(EncoderPairSettings, ParallelTextSettings, TrainingRunSettings):
    """Train a classifier of parallel sentences (Grégoire and Langlais 2017).

    Every pair of the bitext is a positive example, with --negatives target sentences as negative examples. With an
    encoder, four fifths of the negatives come from the 40 nearest targets of the source sentence, as the paper
    proposes for filtered candidates. The epoch with the best F1 on the split validation is kept.
    """

    negatives: int = setting("non-parallel pairs for each parallel one, drawn again in each epoch", 5, above=0)
    score_layer: str = setting(
        "bilinear, or product_difference: a hidden layer over product and difference (the authors' later code)",
        "bilinear",
        choices=("bilinear", "product_difference"),
    )
    share_rnn: bool = setting("read both languages with the same recurrent weights (the authors' later code)", False)
    initial_vectors: str | None = setting(
        "folder of train-bilingual-vectors [default: random vectors]", None, path=True
    )
    embedding_size: int | None = setting(
        "components of a word vector [default: as the initial vectors, else 300]", None, above=0
    )
    hidden_size: int = setting("components of the recurrent state in each direction", 200, above=0)
    epochs: int = setting("passes over the parallel pairs", 10, above=0)
    batch_size: int = setting("labelled pairs per batch and process, negatives included", 128, above=0)
    learning_rate: float = setting("learning rate of Adam, constant", 2e-4, above=0)


@recipe(ParallelClassifierSettings)
def train_parallel_classifier(settings: ParallelClassifierSettings) -> ParallelClassifier:
    """Train a classifier that predicts whether two sentences are translations (Grégoire and Langlais 2017).

    Returns:
        The classifier with its tokenizers.
    """
    vectors = [] if settings.initial_vectors is None else [settings.initial_vectors]
    inputs = [settings.bitext, *dict.fromkeys(settings.encoder_names()), *vectors]
    with TrainingRun(settings, command="train-parallel-classifier", inputs=inputs) as run:
        if not run.is_finished:
            _train(settings, run)
    return ParallelClassifier.from_pretrained(settings.output)


def _train(settings: ParallelClassifierSettings, run: TrainingRun) -> None:
    from ...classification.trainer import ClassifierTrainer, ClassifierTrainingArguments
    from .parallel_trainer import ParallelBatches

    names = settings.encoder_names()
    # Report encoders that do not open before the bitext is read.
    encoders = open_pair(names) if names else None
    texts, tokenizers = settings.read()
    languages = languages_of(texts)
    with naming(settings.bitext):
        examples = ParallelExamples.encode(texts, tokenizers)
    counts = ", ".join(f"{len(pairs):,} pairs {split}" for split, pairs in examples.pairs.items())
    log(f"{counts}; {len(tokenizers[0]):,} and {len(tokenizers[1]):,} words")
    if VALIDATION not in examples.pairs:
        log("no split validation: the last epoch will be kept")
    candidates = None if encoders is None else hard_candidates(examples, *encoders, N_BEST)
    # Frees the memory of the word vectors.
    del encoders
    model = _model(settings, languages, tokenizers, examples)
    batches = ParallelBatches(examples, NegativeDraw(examples, settings.negatives, candidates), settings.seed)
    batch_size = batches.pairs_per_batch(settings.batch_size)
    # "To a value of 5": the norm over all parameters, as in the authors' later code.
    sizes = {"per_device_train_batch_size": batch_size, "max_grad_norm": 5.0}
    trainer = ClassifierTrainer(model, run.arguments(ClassifierTrainingArguments, **sizes), batches, report=log)
    run.train(trainer)
    if not run.writes:
        return
    by_folder = dict(zip((SOURCE_TOKENIZER, TARGET_TOKENIZER), tokenizers, strict=True))
    saved = save_classifier(run, trainer.model, by_folder, trainer)
    kept = trainer.best_scores()
    measured = Measurement(
        task="text-classification",
        dataset=settings.bitext,
        split="validation",
        metric="f1",
        value=None if kept is None else kept.get("best_f1"),
        name="F1 (%; at the best threshold, with the negatives of training; it chose the epoch)",
        task_name="Distinguishing translations from other sentences",
    )
    run.write(
        results={
            "dev": kept,
            **saved,
            "pairs": {split: len(pairs) for split, pairs in examples.pairs.items()},
            "steps": trainer.state.global_step,
        },
        template="parallel_bigru",
        card={
            "epochs_asked": settings.epochs,
            "languages": languages_read(settings.bitext, english=False) or [*dict.fromkeys(filter(None, languages))],
            "bitext_name": to_path(settings.bitext).name,
            "encoder_names": [to_path(path).name for path in dict.fromkeys(names)],
            "n_best": N_BEST,
            "hard_share": HARD_SHARE,
            "vectors_name": to_path(settings.initial_vectors).name if settings.initial_vectors else "random",
            "config": trainer.model.config.to_dict(),
        },
        measurements=[measured],
    )
    log(f"classifier saved to {settings.output}. Score candidates of an encoder with:")
    log(f"  hf-paraphrase mine --source FILE --target FILE --encoder DIR --classifier {settings.output} --output OUT")


def hard_candidates(
    examples: ParallelExamples, source_encoder: SentenceEncoder, target_encoder: SentenceEncoder, n: int
) -> NDArray[np.int32]:
    """Find the nearest training targets of each source, the filter of Grégoire and Langlais (2017, section 2.2).

    They are the n targets of training pairs with the highest cosine (sources, at most n), known translations excluded;
    padded with :data:`NOTHING`.
    """
    target_texts = examples.target.texts[: examples.target.trained]
    targets = target_encoder.encode(target_texts, normalize=True, show_progress_bar=is_main_process())
    sources = source_encoder.encode(examples.source.texts, normalize=True, show_progress_bar=is_main_process())
    for name, vectors in (("source", sources), ("target", targets)):
        if not vectors.any():
            problem = f"no {name} word is in the encoder's vocabulary"
            raise InputError(problem, remedy="swap the encoders, or retrain")
    rows, _ = find_nearest(sources, targets, n + _SPARE, skip_zero=True)
    is_listed = (rows >= 0) & ~examples.are_parallel(np.arange(len(sources))[:, None], rows)
    # Stable: what stays keeps its order.
    order = (~is_listed).argsort(axis=1, kind="stable")[:, :n]
    return np.take_along_axis(np.where(is_listed, rows, NOTHING), order, axis=1).astype(np.int32)


def _model(
    settings: ParallelClassifierSettings,
    languages: Sequence[str],
    tokenizers: Sequence[PreTrainedTokenizerFast],
    examples: ParallelExamples,
) -> PreTrainedModel:
    """Make the classifier with its initial vectors."""
    from transformers import set_seed

    from ...models.configurations import ParallelBiGruConfig
    from ...models.modeling_parallel_bigru import ParallelBiGruModel
    from ...training.word_vectors import fill_embeddings

    tables = [] if settings.initial_vectors is None else _initial_vectors(settings, tokenizers)
    source, target = tokenizers
    set_seed(settings.seed)
    model = ParallelBiGruModel(
        ParallelBiGruConfig(
            source_vocab_size=len(source),
            target_vocab_size=len(target),
            embedding_size=tables[0].matrix.shape[1] if tables else settings.embedding_size or 300,
            hidden_size=settings.hidden_size,
            score_layer=settings.score_layer,
            share_rnn=settings.share_rnn,
            pad_token_id=source.pad_token_id,
            unk_token_id=source.unk_token_id,
            source_lang=languages[0] or None,
            target_lang=languages[1] or None,
        )
    )
    sides = {"source": (source, examples.source), "target": (target, examples.target)}
    for (name, (tokenizer, sentences)), vectors in zip(sides.items(), tables, strict=False):
        counts = sentences.ids.counts(len(tokenizer))
        embeddings = model.get_parameter(f"{name}_embeddings")
        coverage = fill_embeddings(embeddings, tokenizer, vectors, counts, settings.seed)
        log(f"initial vectors of the {name} language: {coverage}")
    return model


def _initial_vectors(
    settings: ParallelClassifierSettings, tokenizers: Sequence[PreTrainedTokenizerFast]
) -> list[WordVectors]:
    """Read the initial vectors of both languages."""
    from ...encoders.initial_vectors import read_initial_vectors

    tables: list[WordVectors] = []
    size = settings.embedding_size
    for name, tokenizer in zip(("source", "target"), tokenizers, strict=True):
        folder = Path(str(settings.initial_vectors)) / name
        if not folder.is_dir():
            raise InputError("no such folder", path=folder, remedy="make it with train-bilingual-vectors")
        vectors = read_initial_vectors(folder, list(tokenizer.get_vocab()), first=0, dimension=size)
        size = vectors.matrix.shape[1]
        tables.append(vectors)
    return tables
