"""`train-sdae`: plain text to a sentence encoder, by denoising."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..artefacts.folders import check_output, check_unfinished, staging_path
from ..artefacts.origins import languages_read
from ..encoders.model_folder import write_encoder_folder
from ..errors import HfParaphraseError, InputError, UsageError
from ..messages import is_main_process, say
from ..settings import settings_of
from ..studies.expansion.opening import open_expander, wordnet_folder
from ..training.checkpointed_run import (
    CHECKPOINTS,
    checkpointed_output,
    end_at_once,
    find_checkpoint,
    job_of,
    train_from,
)
from .arguments import parse
from .train_sdae_arguments import Arguments, check
from .train_sdae_expansion import UnknownWords, look_at_dev

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from ..studies.sdae.batches import SdaeCollator, SentenceExpander
    from ..studies.sdae.sentences import SdaeSentences
    from ..studies.sdae.trainer import SdaeTrainer
    from ..training.word_vectors import WordVectors

_OF_THE_RESULT = ("keep_decoder",)
"""The settings that say what is written, and nothing about the training."""
_WORD_SIZE = 100
"""Components of a word vector where nothing else says how many, as in the authors' code."""


def main(argv: Sequence[str]) -> None:
    """Runs `train-sdae`.

    Raises:
        UsageError: For arguments that do not fit.
        InputError: For missing, malformed or unusable text or vectors.
        OutputError: If the output is in the way, or the unfinished run had other settings.
    """
    arguments = parse(Arguments, "train-sdae", argv)
    check(arguments)
    output = check_output(arguments.output, overwrite=arguments.overwrite)
    if is_main_process():
        # Before the long work, because the staging folder itself refuses only after it.
        check_unfinished(output, overwrite=arguments.overwrite, resume=arguments.resume)
    settings = settings_of(arguments)
    job = partial(job_of, settings, _inputs(arguments), unchecked=_OF_THE_RESULT)
    if end_at_once(output, settings, job, unchecked=_OF_THE_RESULT):
        return
    _check_inputs(arguments)
    expander = open_expander(arguments, arguments.expansion_share or 0.0)
    tokenizer, vectors = _vocabulary(arguments)
    scratch = next(folder for folder in output.absolute().parents if folder.is_dir())
    train, dev = _split(arguments, _sentences(arguments, tokenizer, scratch, keep_text=expander is not None))
    unknown = look_at_dev(dev, tokenizer, expander, _inputs(arguments)[0])
    model, coverage = _model(arguments, tokenizer, vectors, train)
    collators = _collators(arguments, tokenizer, train, dev, expander)
    if not is_main_process():
        _train(arguments, model, collators, staging_path(output))
        return
    with checkpointed_output(arguments.output, overwrite=arguments.overwrite, resume=arguments.resume) as staging:
        trainer = _train(arguments, model, collators, staging)
        _write(arguments, trainer, tokenizer, train, coverage, unknown, staging)
    _summary(arguments)


def _check_inputs(arguments: Arguments) -> None:
    """Looks, before any long work, for what is missing.

    Raises:
        InputError: If a file, a folder or one of the columns is not there, or a column holds no text.
    """
    import pyarrow as pa

    from ..data.parquet import read_schema
    from ..data.schema import columns_named, require_columns
    from ..data.text_files import check_readable

    for path in arguments.text:
        check_readable(Path(path))
    for folder in arguments.pairs:
        schema = read_schema(folder)
        columns = columns_named(arguments.columns, schema.names)
        require_columns(schema.names, columns, folder)
        for name in columns:
            kind = schema.field(name).type
            if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
                raise InputError(f"the column {name} is {kind}, not text", path=folder, remedy="give other --columns")


def _inputs(arguments: Arguments) -> list[str]:
    others = (arguments.tokenizer, arguments.initial_vectors, wordnet_folder(arguments))
    given = [item for item in others if item is not None]
    return [*arguments.text, *arguments.pairs, *given, *arguments.expansion_decontaminate]


def _lines(arguments: Arguments) -> Iterator[str]:
    """Streams all sentences of the text, as often as it is called."""
    from ..data.parquet import iterate_batches, read_schema
    from ..data.schema import columns_named
    from ..training.word_frequencies import numbered_lines

    for path in arguments.text:
        yield from (line for _, line in numbered_lines(Path(path)))
    for folder in arguments.pairs:
        columns = columns_named(arguments.columns, read_schema(folder).names)
        for batch in iterate_batches(folder, "train", columns):
            for name in columns:
                yield from (text or "" for text in batch.column(name).to_pylist())


def _vocabulary(arguments: Arguments) -> tuple[PreTrainedTokenizerFast, WordVectors | None]:
    """Builds or opens the tokenizer, and reads the initial vectors of its words.

    Raises:
        HfParaphraseError: If a file or folder is malformed or does not fit, or there are no two words to tell apart.
    """
    from ..encoders.encoder_vocabulary import given_vocabulary, word_level_vocabulary

    common: dict[str, Any] = {"initial_vectors": arguments.initial_vectors, "show_progress_bar": is_main_process()}
    if arguments.tokenizer is not None:
        tokenizer, vectors = given_vocabulary(arguments.tokenizer, **common)
    else:
        try:
            tokenizer, vectors = word_level_vocabulary(
                _lines(arguments),
                vocabulary_size=arguments.vocabulary_size or None,
                min_frequency=arguments.min_frequency,
                lower_case=arguments.lower_case,
                contractions=arguments.split_contractions,
                **common,
            )
        except HfParaphraseError as error:
            if error.path is not None or not isinstance(error, InputError):
                raise
            remedy = "give more text, or lower --min-frequency"
            raise InputError(error.message, path=_inputs(arguments)[0], remedy=remedy) from error
    words = len(tokenizer) - len({tokenizer.pad_token_id, tokenizer.unk_token_id})
    if words < 2:
        raise InputError(
            f"the vocabulary has {words} word{'' if words == 1 else 's'}: there is nothing to tell apart",
            path=arguments.tokenizer or _inputs(arguments)[0],
            remedy="give more text, lower --min-frequency or raise --vocabulary-size",
        )
    if vectors is not None and arguments.embedding_size not in (None, vectors.matrix.shape[1]):
        raise UsageError(
            f"--embedding-size {arguments.embedding_size}, but the initial vectors have "
            f"{vectors.matrix.shape[1]} components",
            remedy="leave --embedding-size out",
        )
    return tokenizer, vectors


def _sentences(
    arguments: Arguments, tokenizer: PreTrainedTokenizerFast, scratch: Path, *, keep_text: bool
) -> SdaeSentences:
    """Tokenises the text.

    Raises:
        InputError: If no sentence is left.
    """
    from ..studies.sdae.sentences import FEWEST_WORDS, encode_sentences

    found = encode_sentences(
        _lines(arguments), tokenizer, max_words=arguments.max_words, keep_text=keep_text, scratch=scratch
    )
    if len(found) < 2:
        what = "no sentence" if not len(found) else "one sentence only"
        raise InputError(
            f"{what} of {FEWEST_WORDS} to {arguments.max_words} words ({found.left_out} left out)",
            path=_inputs(arguments)[0],
            remedy="give running text, one sentence a line",
        )
    return found


def _split(arguments: Arguments, sentences: SdaeSentences) -> tuple[SdaeSentences, SdaeSentences]:
    """Draws the sentences to train on and, in the first place, those that are held out."""
    order = np.random.default_rng([arguments.seed, 1]).permutation(len(sentences))
    held_out = min(arguments.dev_size, len(sentences) // 2)
    if held_out < arguments.dev_size:
        say(f"there are only {len(sentences):,} sentences: {held_out:,} of them are held out")
    end = len(sentences) if arguments.max_sentences is None else held_out + arguments.max_sentences
    train, dev = sentences.take(np.sort(order[held_out:end])), sentences.take(np.sort(order[:held_out]))
    say(
        f"{len(train):,} sentences to train on, {train.lengths().mean():.1f} words each, {len(dev):,} held out; "
        f"left out: {sentences.left_out}"
    )
    return train, dev


def _model(
    arguments: Arguments, tokenizer: PreTrainedTokenizerFast, vectors: WordVectors | None, train: SdaeSentences
) -> tuple[PreTrainedModel, Any]:
    """Makes the model with its initial vectors; returns it and how many words have one (None without vectors)."""
    import torch
    from transformers import set_seed

    from ..encoders.encoder_vocabulary import start_embeddings
    from ..models.configuration_sdae import SdaeConfig
    from ..models.modeling_sdae import SdaeModel

    size = arguments.embedding_size or (_WORD_SIZE if vectors is None else vectors.matrix.shape[1])
    set_seed(arguments.seed)
    model = SdaeModel(
        SdaeConfig(
            vocab_size=len(tokenizer),
            hidden_size=arguments.hidden_size,
            embedding_size=size,
            readout_size=arguments.readout_size,
            share_embeddings=not arguments.fixed_vectors,
            initialization=arguments.initialization,
            pad_token_id=tokenizer.pad_token_id,
            unk_token_id=tokenizer.unk_token_id,
        )
    )
    say(f"sdae: {model.num_parameters():,} parameters, {len(tokenizer):,} token vectors of {size} components")
    if vectors is None:
        return model, None
    matrix, coverage = start_embeddings(
        tokenizer, vectors, train.counts(len(tokenizer)), dimension=size, seed=arguments.seed
    )
    with torch.no_grad():
        model.embeddings.copy_(torch.from_numpy(matrix))
    model.embeddings.requires_grad_(not arguments.fixed_vectors)
    say(f"initial vectors: {coverage}")
    return model, coverage


def _collators(
    arguments: Arguments,
    tokenizer: PreTrainedTokenizerFast,
    train: SdaeSentences,
    dev: SdaeSentences,
    expander: SentenceExpander | None,
) -> tuple[SdaeCollator, SdaeCollator]:
    from ..studies.sdae.batches import SdaeCollator
    from ..studies.sdae.noise import WordNoise

    noise = WordNoise(arguments.noise, arguments.drop, arguments.swap, tokenizer.unk_token_id)
    common: dict[str, Any] = {"seed": arguments.seed, "expander": expander}
    return (
        SdaeCollator(train, tokenizer, noise, expansion_use=arguments.expansion_use or "noise", **common),
        # Never a noise, so that the dev losses of all uses are of the same task.
        SdaeCollator(dev, tokenizer, noise, expansion_use="regulariser", **common),
    )


def _train(
    arguments: Arguments, model: PreTrainedModel, collators: tuple[SdaeCollator, SdaeCollator], staging: Path
) -> SdaeTrainer:
    import torch
    from tqdm.auto import tqdm

    from ..studies.sdae.trainer import SdaeTrainer, SdaeTrainingArguments
    from ..training.arguments import bf16_is_fast

    training_arguments = SdaeTrainingArguments(
        output_dir=str(staging / CHECKPOINTS),
        max_steps=arguments.max_steps,
        per_device_train_batch_size=arguments.batch_size,
        learning_rate=arguments.learning_rate,
        max_grad_norm=arguments.max_grad_norm,
        evaluations=min(arguments.evaluations, arguments.max_steps),
        compositionality_weight=arguments.expansion_weight or 0.0,
        bf16=arguments.precision == "bf16" or (arguments.precision == "auto" and bf16_is_fast()),
        seed=arguments.seed,
        report_to=arguments.report_to,
        use_cpu=not torch.accelerator.is_available(),
    )
    checkpoint = find_checkpoint(staging, settings_of(arguments), _inputs(arguments), unchecked=_OF_THE_RESULT)
    trainer = SdaeTrainer(model, training_arguments, *collators, report=lambda text: tqdm.write(text, file=sys.stderr))
    train_from(trainer, checkpoint)
    return trainer


def _write(
    arguments: Arguments,
    trainer: SdaeTrainer,
    tokenizer: PreTrainedTokenizerFast,
    train: SdaeSentences,
    coverage: Any,
    unknown: UnknownWords,
    folder: Path,
) -> None:
    model, scores = trainer.accelerator.unwrap_model(trainer.model), trainer.scores()
    trained = sum(item.numel() for item in model.parameters())
    if not arguments.keep_decoder:
        model.decoder = None
        model.config.has_decoder = False
    left_out = vars(train.left_out)
    results = {
        "sentences": len(train),
        "left_out": left_out,
        "coverage": None if coverage is None else vars(coverage),
        "steps": trainer.state.global_step,
        "epochs": trainer.state.epoch,
        "bf16": trainer.args.bf16,
        "dev_loss": scores[-1]["loss"],
        "dev_expansion_distance": scores[-1].get("expansion_distance"),
        "dev_unknown_words": unknown.plain,
        "dev_expansion_unknown_words": unknown.expanded,
        "dev_scores": scores,
        "parameters_in_training": trained,
        "log": trainer.state.log_history,
    }
    inputs = _inputs(arguments)
    wordnet = wordnet_folder(arguments)
    languages = sorted({item for folder in arguments.pairs for item in languages_read(folder, english=True)})
    write_encoder_folder(
        folder,
        model,
        tokenizer,
        name=Path(arguments.output).name,
        command="train-sdae",
        settings=settings_of(arguments),
        inputs=inputs,
        results=results,
        template="sdae",
        card={
            "languages": languages or (["en"] if arguments.split_contractions else []),
            "text_names": ", ".join(Path(item).name for item in [*arguments.text, *arguments.pairs]),
            "sentences": len(train),
            "left_out": str(train.left_out),
            "vectors_name": _start(arguments, coverage),
            "expansion_name": None if wordnet is None else Path(wordnet).name,
            "trained_parameters": trained,
            "bf16": trainer.args.bf16,
            "scores": scores,
            "unknown": unknown,
            "epochs": trainer.state.epoch or 0.0,
        },
    )


def _start(arguments: Arguments, coverage: Any) -> str:
    if arguments.initial_vectors is None:
        return "random"
    use = "fixed" if arguments.fixed_vectors else "trained further"
    return f"{Path(arguments.initial_vectors).name} ({coverage}), {use}"


def _summary(arguments: Arguments) -> None:
    say(f"the encoder lies in {arguments.output}; load it with")
    say(f"  hf-paraphrase encode --model {arguments.output} --input FILE --output FILE.npy")
    say(f"  SentenceEncoder.from_pretrained({arguments.output!r})  # from hf_paraphrase import SentenceEncoder")
    say(f"  SentenceTransformer({arguments.output!r}, trust_remote_code=True)  # from sentence_transformers")
