"""The recipe of the verb `train-sdae`: plain text in, a sentence encoder that was trained by denoising out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...artefacts.provenance import inherited_metadata
from ...artefacts.remote_paths import to_path
from ...data.folder import DataFolder
from ...data.schema import columns_named
from ...data.sentences import SentenceCorpus
from ...data.text_files import numbered_lines
from ...encoders.model_folder import card_values, sizes_of, write_model_files
from ...encoders.sentence_encoder import SentenceEncoder
from ...errors import HfParaphraseError, InputError, UsageError
from ...messages import is_main_process, log
from ...settings import recipe
from ...tokenization.token_ids import id_counts
from ...training.run import TrainingRun
from ..expansion.expander import open_expander, wordnet_folder
from .noise import WordNoise
from .sentences import FEWEST_WORDS, encode_sentences
from .settings import SdaeSettings

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from ...training.word_vectors import WordVectors
    from .sentences import SdaeSentences
    from .trainer import SdaeTrainer

_WORD_SIZE = 100
"""Components of a word vector where nothing else says how many, as in the authors' code."""


@recipe(SdaeSettings)
def train_sdae(settings: SdaeSettings) -> SentenceEncoder:
    """Trains a sequential denoising autoencoder on plain text (Hill, Cho and Korhonen 2016; paper 004).

    Returns:
        The sentence encoder.
    """
    with TrainingRun(settings, command="train-sdae", inputs=settings.inputs(), of_the_result=["keep_decoder"]) as run:
        if not run.is_finished:
            _train(settings, run)
    return SentenceEncoder.from_pretrained(settings.output)


def _train(settings: SdaeSettings, run: TrainingRun) -> None:
    from ...training.devices import is_bf16
    from .batches import SdaeCollator, check_expansion
    from .trainer import SdaeTrainer, SdaeTrainingArguments

    for source in settings.text:
        SentenceCorpus(Path(source))
    for source in settings.pairs:
        SentenceCorpus(Path(source), settings.columns)
    expander = open_expander(settings, settings.expansion_share or 0.0)
    tokenizer, vectors = _vocabulary(settings)
    sentences = encode_sentences(
        _lines(settings), tokenizer, max_words=settings.max_words, keep_text=expander is not None
    )
    train, dev = _split(settings, sentences)
    if expander is not None:
        check_expansion(dev, expander, settings.inputs()[0])
    model, coverage = _model(settings, tokenizer, vectors, train)
    noise = WordNoise(settings.noise, settings.drop, settings.swap, tokenizer.unk_token_id)
    common: dict[str, Any] = {"seed": settings.seed, "expander": expander}
    arguments = run.arguments(
        SdaeTrainingArguments,
        max_steps=settings.max_steps,
        per_device_train_batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        max_grad_norm=settings.max_grad_norm,
        evaluations=min(settings.evaluations, settings.max_steps),
        compositionality_weight=settings.expansion_weight or 0.0,
        bf16=is_bf16(settings.precision, settings.device),
    )
    trainer = SdaeTrainer(
        model,
        arguments,
        SdaeCollator(train, tokenizer, noise, expansion_use=settings.expansion_use or "noise", **common),
        # Never a noise, so that the dev losses of all uses are of the same task.
        SdaeCollator(dev, tokenizer, noise, expansion_use="regulariser", **common),
        report=log,
    )
    run.train(trainer)
    if run.writes:
        _write(settings, trainer, tokenizer, train, coverage, run)
        log(f"encoder saved to {settings.output}. Use it with:")
        log(f"  hf-paraphrase encode --model {settings.output} --input FILE --output FILE.npy")
        log(f"  SentenceEncoder.from_pretrained({settings.output!r})  # from hf_paraphrase import SentenceEncoder")


def _lines(settings: SdaeSettings) -> Iterator[str]:
    """Streams all sentences of the text, as often as it is called."""
    for path in settings.text:
        yield from (line for _, line in numbered_lines(Path(path)))
    for folder in settings.pairs:
        opened = DataFolder(folder)
        columns = columns_named(settings.columns, opened.schema().names)
        for batch in opened.batches("train", columns):
            for name in columns:
                yield from (text or "" for text in batch.column(name).to_pylist())


def _vocabulary(settings: SdaeSettings) -> tuple[PreTrainedTokenizerFast, WordVectors | None]:
    """Builds or opens the tokenizer, and reads the initial vectors of its words."""
    from ...encoders.encoder_vocabulary import given_vocabulary, word_level_vocabulary

    common: dict[str, Any] = {"initial_vectors": settings.initial_vectors, "show_progress_bar": is_main_process()}
    if settings.tokenizer is not None:
        tokenizer, vectors = given_vocabulary(settings.tokenizer, **common)
    else:
        try:
            tokenizer, vectors = word_level_vocabulary(
                _lines(settings),
                vocabulary_size=settings.vocabulary_size or None,
                min_frequency=settings.min_frequency,
                lower_case=settings.lower_case,
                contractions=settings.split_contractions,
                **common,
            )
        except HfParaphraseError as error:
            if error.path is not None or not isinstance(error, InputError):
                raise
            remedy = "give more text, or lower --min-frequency"
            raise InputError(error.message, path=settings.inputs()[0], remedy=remedy) from error
    words = len(tokenizer) - len({tokenizer.pad_token_id, tokenizer.unk_token_id})
    if words < 2:
        raise InputError(
            f"the vocabulary has {words} word{'' if words == 1 else 's'}: there is nothing to distinguish",
            path=settings.tokenizer or settings.inputs()[0],
            remedy="give more text, lower --min-frequency or raise --vocabulary-size",
        )
    if vectors is not None and settings.embedding_size not in (None, vectors.matrix.shape[1]):
        raise UsageError(
            f"--embedding-size {settings.embedding_size}, but the initial vectors have "
            f"{vectors.matrix.shape[1]} components",
            remedy="leave --embedding-size out",
        )
    return tokenizer, vectors


def _split(settings: SdaeSettings, sentences: SdaeSentences) -> tuple[SdaeSentences, SdaeSentences]:
    """Draws the sentences to train on and, in the first place, those that are held out."""
    left_out = _described(sentences)
    if len(sentences) < 2:
        what = "no sentence" if not len(sentences) else "one sentence only"
        raise InputError(
            f"{what} of {FEWEST_WORDS} to {settings.max_words} words ({left_out} left out)",
            path=settings.inputs()[0],
            remedy="give running text, one sentence a line",
        )
    order = np.random.default_rng([settings.seed, 1]).permutation(len(sentences))
    held_out = min(settings.dev_size, len(sentences) // 2)
    if held_out < settings.dev_size:
        log(f"there are only {len(sentences):,} sentences: {held_out:,} of them are held out")
    end = len(sentences) if settings.max_sentences is None else held_out + settings.max_sentences
    train, dev = sentences.take(np.sort(order[held_out:end])), sentences.take(np.sort(order[:held_out]))
    log(
        f"{len(train):,} sentences to train on, {train.lengths().mean():.1f} words each, {len(dev):,} held out; "
        f"left out: {left_out}"
    )
    return train, dev


def _described(sentences: SdaeSentences) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in sentences.left_out.items())


def _model(
    settings: SdaeSettings, tokenizer: PreTrainedTokenizerFast, vectors: WordVectors | None, train: SdaeSentences
) -> tuple[PreTrainedModel, Any]:
    """Makes the model with its initial vectors; returns it and how many words have one (None without vectors)."""
    import torch
    from transformers import set_seed

    from ...encoders.encoder_vocabulary import start_embeddings
    from ...models.configuration_sdae import SdaeConfig
    from ...models.modeling_sdae import SdaeModel

    size = settings.embedding_size or (_WORD_SIZE if vectors is None else vectors.matrix.shape[1])
    set_seed(settings.seed)
    model = SdaeModel(
        SdaeConfig(
            vocab_size=len(tokenizer),
            hidden_size=settings.hidden_size,
            embedding_size=size,
            readout_size=settings.readout_size,
            share_embeddings=not settings.fixed_vectors,
            initialization=settings.initialization,
            pad_token_id=tokenizer.pad_token_id,
            unk_token_id=tokenizer.unk_token_id,
        )
    )
    log(f"sdae: {model.num_parameters():,} parameters, {len(tokenizer):,} token vectors of {size} components")
    if vectors is None:
        return model, None
    matrix, coverage = start_embeddings(
        tokenizer, vectors, id_counts(train.tokens.ids, len(tokenizer)), dimension=size, seed=settings.seed
    )
    with torch.no_grad():
        model.embeddings.copy_(torch.from_numpy(matrix))
    model.embeddings.requires_grad_(not settings.fixed_vectors)
    log(f"initial vectors: {coverage}")
    return model, coverage


def _write(
    settings: SdaeSettings,
    trainer: SdaeTrainer,
    tokenizer: PreTrainedTokenizerFast,
    train: SdaeSentences,
    coverage: Any,
    run: TrainingRun,
) -> None:
    model, scores = trainer.accelerator.unwrap_model(trainer.model), trainer.scores()
    trained = sum(item.numel() for item in model.parameters())
    if not settings.keep_decoder:
        model.decoder = None
        model.config.has_decoder = False
    results = {
        "sentences": len(train),
        "left_out": train.left_out,
        "coverage": None if coverage is None else vars(coverage),
        "steps": trainer.state.global_step,
        "epochs": trainer.state.epoch,
        "bf16": trainer.args.bf16,
        "dev_loss": scores[-1]["loss"],
        "dev_expansion_distance": scores[-1].get("expansion_distance"),
        "dev_scores": scores,
        "parameters_in_training": trained,
    }
    wordnet = wordnet_folder(settings)
    write_model_files(run.folder, model, tokenizer)
    run.write(
        results={**results, **sizes_of(model)},
        template="sdae",
        card={
            **card_values(model, Path(settings.output).name),
            "languages": _languages(settings),
            "text_names": ", ".join(to_path(item).name for item in [*settings.text, *settings.pairs]),
            "sentences": len(train),
            "left_out": _described(train),
            "vectors_name": _start(settings, coverage),
            "expansion_name": None if wordnet is None else to_path(wordnet).name,
            "trained_parameters": trained,
            "bf16": trainer.args.bf16,
            "scores": scores,
            "epochs": trainer.state.epoch or 0.0,
        },
    )


def _start(settings: SdaeSettings, coverage: Any) -> str:
    if settings.initial_vectors is None:
        return "random"
    use = "fixed" if settings.fixed_vectors else "trained further"
    return f"{to_path(settings.initial_vectors).name} ({coverage}), {use}"


def _languages(settings: SdaeSettings) -> list[str]:
    """Returns the languages that are known: English where words are expanded, else those of the pairs."""
    if settings.expansion is not None:
        return ["en"]
    languages: set[str] = set()
    for folder in settings.pairs:
        opened = DataFolder(folder)
        present = opened.schema().names
        sides = [f"{column}_lang" for column in columns_named(settings.columns, present)]
        if set(sides) <= set(present):
            rows = next(iter(opened.batches("train", sides)))
            languages |= {value for name in sides for value in rows.column(name).unique().to_pylist() if value}
        else:
            languages |= set(inherited_metadata(folder)["language"])
    return sorted(languages)
