"""`train-encoder`: paraphrase pairs to a sentence encoder."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.folders import check_output, check_unfinished, staging_path
from ..artefacts.origins import languages_read
from ..encoders.encoder_folder import dev_measurement, write_encoder_folder
from ..encoders.encoder_kinds import ENCODER_KINDS
from ..errors import InputError, UsageError
from ..messages import is_main_process, say
from ..models.sentence_transformers_files import needs_own_code
from ..settings import settings_of
from ..training.checkpointed_run import CHECKPOINTS, checkpointed_output, end_at_once, job_of
from .arguments import parse
from .expansion_flags import open_expander, wordnet_folder
from .train_encoder_arguments import MODEL_OPTIONS, Arguments, check
from .train_encoder_expansion import described, expansion_writer, with_definitions

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from ..encoders.encoded_pairs import EncodedPairs
    from ..encoders.encoder_vocabulary import EncoderVocabulary
    from ..encoders.trainer import EncoderTrainer
    from ..encoders.training_arguments import EncoderTrainingArguments
    from ..studies.expansion.training_expansions import Expansions

_RECORD = f"{CHECKPOINTS}/settings.json"


def main(argv: Sequence[str]) -> None:
    """Runs `train-encoder`.

    Raises:
        UsageError: For arguments that do not fit, or that differ from those of the run to resume.
        InputError: For missing or malformed pairs, vectors or dev data.
        OutputError: If the output is in the way.
    """
    arguments = parse(Arguments, "train-encoder", argv)
    check(arguments)
    output = check_output(arguments.output, overwrite=arguments.overwrite)
    # Before the long work, because the staging folder itself refuses only after it.
    unfinished = staging_path(output)
    if is_main_process():
        check_unfinished(output, overwrite=arguments.overwrite, resume=arguments.resume)
    settings = settings_of(arguments)
    if end_at_once(output, settings, lambda: job_of(settings, _inputs(arguments)), record=_RECORD):
        return
    scorer = _scorer(arguments.dev_data)

    from ..encoders.encoded_pairs import encode_pairs
    from ..encoders.losses import LOSSES

    expander = open_expander(arguments, arguments.expansion_words, at_least=1)
    vocabulary = new_vocabulary(arguments, lambda: with_definitions(expander, _sentences(arguments)))
    tokenizer = vocabulary.tokenizer
    scratch = next(folder for folder in output.absolute().parents if folder.is_dir())
    expansions = expansion_writer(arguments, expander, tokenizer, scratch)
    pairs = encode_pairs(
        arguments.pairs,
        tokenizer,
        max_pairs=arguments.max_pairs,
        seed=arguments.seed,
        labelled=LOSSES[arguments.loss].needs_labels,
        scratch=scratch,
        read=None if expansions is None else expansions.add,
    )
    expanded = None if expansions is None else expansions.finish()
    if pairs.dropped:
        say(f"{pairs.dropped} pairs with an empty side left out")
    if pairs.not_paraphrases:
        say(f"{pairs.not_paraphrases} pairs labelled 0, no paraphrases, left out")
    model, coverage = untrained_model(arguments, vocabulary, pairs)
    say(
        f"{arguments.model_type}: {len(pairs)} pairs, {model.config.vocab_size} token vectors of "
        f"{model.get_parameter('embeddings').shape[1]} components{'' if coverage is None else f'; {coverage}'}"
    )
    if expanded is not None:
        say(f"{len(expanded)} sentences expanded, {len(expanded.joined)} of them join as pairs with their expansions")
    if pairs.labels is None and pairs.are_all_the_same():
        what = "a single pair has" if len(pairs) == 1 else f"all {len(pairs)} pairs are the same and have"
        say(f"{what} no negatives: nothing will be learned")
    if not is_main_process():
        _train(arguments, settings, model, tokenizer, pairs, scorer, unfinished / CHECKPOINTS, expanded)
        return
    with checkpointed_output(
        arguments.output, overwrite=arguments.overwrite, resume=arguments.resume, record=_RECORD
    ) as staging:
        trainer = _train(arguments, settings, model, tokenizer, pairs, scorer, staging / CHECKPOINTS, expanded)
        _write(arguments, settings, trainer, pairs, coverage, staging, expanded)
    _summary(arguments, trainer)


def _scorer(dev_data: str | None) -> Callable[..., dict[str, float]] | None:
    if dev_data is None:
        say("no --dev-data: the last epoch will be kept")
        return None
    if not Path(dev_data).is_dir():
        raise InputError("no such folder", path=dev_data, remedy="check --dev-data")
    from ..evaluation.dev import dev_scorer

    return dev_scorer(Path(dev_data))


def _sentences(arguments: Arguments) -> Iterable[str]:
    from ..encoders.encoded_pairs import iterate_pairs

    blocks = iterate_pairs(arguments.pairs, max_pairs=arguments.max_pairs, seed=arguments.seed)
    return chain.from_iterable(chain(first, second) for first, second in blocks)


def new_vocabulary(arguments: Arguments, sentences: Callable[[], Iterable[str]]) -> EncoderVocabulary:
    """Builds or opens the tokenizer, and reads or makes the initial vectors of its words.

    Args:
        arguments: The checked settings.
        sentences: Streams the sentences whose words the vocabulary is to have, as often as it is called.
    """
    from ..encoders.encoder_vocabulary import EncoderVocabulary, given_vocabulary, with_trigrams, word_level_vocabulary

    kind = ENCODER_KINDS[arguments.model_type]
    common: dict[str, Any] = {
        "initial_vectors": arguments.initial_vectors,
        # Encoders whose embeddings have a size of their own take word vectors of any size.
        "dimension": None if "embedding_size" in kind.options else arguments.hidden_size,
        "show_progress_bar": is_main_process(),
    }
    size: dict[str, Any] = {
        "vocabulary_size": arguments.vocabulary_size or None,
        "min_frequency": arguments.min_frequency,
        "lower_case": arguments.lower_case,
    }
    words = None
    if arguments.tokenizer is not None:
        words = given_vocabulary(arguments.tokenizer, **common)
    elif kind.words:
        words = word_level_vocabulary(
            sentences(),
            word_list=arguments.word_list,
            contractions=arguments.split_contractions,
            **size,
            **common,
        )
    if words is not None and words[1] is not None and words[1].repeated:
        say(f"{arguments.initial_vectors}: {words[1].repeated} lines repeat a word; its first vector counts")
    if kind.trigrams:
        return with_trigrams(words, sentences(), skip_unknown=bool(arguments.skip_unknown), **size)
    assert words is not None
    return EncoderVocabulary(words[0], [len(words[0])], *words)


def untrained_model(
    arguments: Arguments, vocabulary: EncoderVocabulary, pairs: EncodedPairs
) -> tuple[PreTrainedModel, Any]:
    """Makes the encoder with its initial vectors; returns it and how many words have one (None without vectors)."""
    import torch

    from ..encoders.encoder_kinds import new_encoder
    from ..encoders.encoder_vocabulary import start_embeddings
    from ..training.word_frequencies import FREQUENCY_CONSTANT

    vectors = vocabulary.vectors
    kind = ENCODER_KINDS[arguments.model_type]
    # Trigrams that are to be skipped do not get past their tokenizer.
    options = [name for name in kind.options if kind.words or name != "skip_unknown"]
    model = new_encoder(
        arguments.model_type,
        vocabulary,
        hidden_size=arguments.hidden_size,
        embedding_size=None if vectors is None else vectors.matrix.shape[1],
        seed=arguments.seed,
        dropout=arguments.dropout,
        word_dropout=arguments.word_dropout,
        **{name: getattr(arguments, name) for name in MODEL_OPTIONS if name in options},
    )
    if vocabulary.words is None or (vectors is None and not arguments.frequency_weights):
        return model, None
    embeddings = model.get_parameter("embeddings")
    matrix, coverage = start_embeddings(
        vocabulary.words,
        vectors,
        pairs.counts(len(embeddings))[: vocabulary.sizes[0]],
        dimension=embeddings.shape[1],
        frequency_weights=arguments.frequency_weights,
        frequency_constant=arguments.frequency_constant or FREQUENCY_CONSTANT,
        frequency_counts=arguments.frequency_counts,
        seed=arguments.seed,
    )
    with torch.no_grad():
        # Tokens behind the words, e.g. trigrams, keep their random start.
        embeddings[: len(matrix)].copy_(torch.from_numpy(matrix))
    return model, coverage if vectors is not None else None


def training_arguments(arguments: Arguments, folder: Path) -> EncoderTrainingArguments:
    """Turns the checked settings into those of the Trainer, which keeps its checkpoints in `folder`."""
    import torch

    from ..encoders.training_arguments import EncoderTrainingArguments

    return EncoderTrainingArguments(
        output_dir=str(folder),
        num_train_epochs=arguments.epochs or 0.0,
        per_device_train_batch_size=arguments.batch_size,
        learning_rate=arguments.learning_rate,
        max_grad_norm=arguments.max_grad_norm,
        gradient_accumulation_steps=arguments.gradient_accumulation_steps,
        bf16=arguments.precision == "bf16",
        loss=arguments.loss,
        margin=arguments.margin,
        negatives=arguments.negatives,
        negatives_from=arguments.negatives_from,
        mega_batch_size=arguments.mega_batch_size,
        mega_batch_anneal=arguments.mega_batch_anneal,
        scramble=arguments.scramble,
        lambda_c=arguments.lambda_c,
        lambda_w=arguments.lambda_w,
        expansion_weight=arguments.expansion_weight,
        evaluations_per_epoch=arguments.evaluations_per_epoch,
        dense_optimizer=arguments.dense_optimizer,
        seed=arguments.seed,
        report_to=arguments.report_to,
        use_cpu=not torch.accelerator.is_available(),
    )


def _train(
    arguments: Arguments,
    settings: dict[str, Any],
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    pairs: EncodedPairs,
    scorer: Callable[..., dict[str, float]] | None,
    folder: Path,
    expansions: Expansions | None,
) -> EncoderTrainer:
    from tqdm.auto import tqdm

    from ..encoders.trainer import EncoderTrainer
    from ..training.callbacks import last_checkpoint
    from ..training.processes import wait_for_all

    # Made first, because it joins the processes.
    trainer_arguments = training_arguments(arguments, folder)
    # The first process makes the folder ready; the others see it as it left it.
    checkpoint = _checkpoint(arguments, settings, folder, last_checkpoint) if is_main_process() else None
    wait_for_all()
    if not is_main_process():
        checkpoint = last_checkpoint(folder)
    wait_for_all()
    trainer = EncoderTrainer(
        model,
        trainer_arguments,
        pairs,
        tokenizer,
        scorer=scorer,
        report=lambda text: tqdm.write(text, file=sys.stderr),
        expansions=expansions,
    )
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    # None of the checkpoints goes before all processes have loaded the best one.
    wait_for_all()
    return trainer


def _checkpoint(
    arguments: Arguments, settings: dict[str, Any], folder: Path, find: Callable[[Path], Path | None]
) -> Path | None:
    """Finds the checkpoint to resume from, after making sure that it was made with the same settings and inputs."""
    wanted = job_of(settings, _inputs(arguments))
    folder.mkdir(parents=True, exist_ok=True)
    record = folder.parent / _RECORD
    if record.is_file():
        made_with = json.loads(record.read_text(encoding="utf-8"))
        different = sorted(key for key in {*wanted, *made_with} if wanted.get(key) != made_with.get(key))
        if different:
            raise UsageError(
                f"the unfinished run had other values of {', '.join(different)}",
                path=folder.parent,
                remedy="give the same settings, or start afresh with --overwrite and without --resume",
            )
        checkpoint = find(folder)
        say(f"resuming after step {checkpoint.name.rpartition('-')[2]}" if checkpoint else "resuming at the start")
        return checkpoint
    record.write_text(json.dumps(wanted, indent=2) + "\n", encoding="utf-8")
    if arguments.resume:
        say("nothing to resume: starting afresh")
    return None


def _write(
    arguments: Arguments,
    settings: dict[str, Any],
    trainer: EncoderTrainer,
    pairs: EncodedPairs,
    coverage: Any,
    folder: Path,
    expansions: Expansions | None,
) -> None:
    from ..encoders.encoded_pairs import sides_of

    scores, kept = trainer.scores(), trainer.best_scores()
    untrained = next((entry for entry in scores if entry["step"] == 0), None)
    results = {
        "pairs": len(pairs),
        "pairs_dropped": pairs.dropped,
        "pairs_not_paraphrases": pairs.not_paraphrases,
        "sentences_expanded": 0 if expansions is None else len(expansions),
        "expansions_joined": 0 if expansions is None else len(expansions.joined),
        "coverage": None if coverage is None else vars(coverage),
        "dev_untrained": None if untrained is None else untrained["dev_mean"],
        "dev_best": None if kept is None else kept["dev_mean"],
        "best_epoch": None if kept is None else kept["epoch"],
        "steps": trainer.state.global_step,
        "dev_scores": scores,
    }
    bitext = "sentence1" not in sides_of(arguments.pairs)
    write_encoder_folder(
        folder,
        trainer.model,
        trainer.tokenizer,
        name=Path(arguments.output).name,
        command="train-encoder",
        settings=settings,
        inputs=_inputs(arguments),
        results=results,
        card={
            "kind": arguments.model_type,
            "token_size": trainer.model.get_parameter("embeddings").shape[1],
            "languages": languages_read(arguments.pairs, english=arguments.split_contractions and not bitext),
            "bitext": bitext,
            "pairs": len(pairs),
            "pairs_name": Path(arguments.pairs).name,
            "dropped": pairs.dropped,
            "epochs": f"{trainer.args.num_train_epochs:g}",
            "initial_vectors": _start(arguments, coverage),
            "optimizer": "Adam over the rows of a batch" if trainer.sparse_gradients else "Adam",
            "loss": trainer.loss.description,
            "loss_source": trainer.loss.source,
            "margin": trainer.loss.margin,
            "searches_negatives": not trainer.loss.needs_labels,
            "expansion": None if expansions is None else described(arguments, expansions),
            "scores": scores,
            "kept_step": None if kept is None else kept["step"],
        },
        measurements=[dev_measurement(arguments.dev_data, results["dev_best"], scores)],
    )


def _inputs(arguments: Arguments) -> list[str]:
    vocabulary = (arguments.tokenizer, arguments.word_list, arguments.initial_vectors, arguments.frequency_counts)
    expansion = (wordnet_folder(arguments), *arguments.expansion_decontaminate)
    inputs = (arguments.pairs, *vocabulary, arguments.dev_data, *expansion)
    return [item for item in inputs if item is not None]


def _start(arguments: Arguments, coverage: Any) -> str:
    from ..encoders.initial_vectors import SENTENCE_ENCODER, kind_of_source
    from ..training.word_frequencies import FREQUENCY_CONSTANT

    start = "random"
    if arguments.initial_vectors is not None:
        distilled = kind_of_source(arguments.initial_vectors) == SENTENCE_ENCODER
        start = f"{'distilled from ' if distilled else ''}{Path(arguments.initial_vectors).name} ({coverage})"
    if not arguments.frequency_weights:
        return start
    counts = "the pairs" if arguments.frequency_counts is None else Path(arguments.frequency_counts).name
    return f"{start}, frequency-weighted (a = {arguments.frequency_constant or FREQUENCY_CONSTANT:g}, {counts})"


def _summary(arguments: Arguments, trainer: EncoderTrainer) -> None:
    scores, kept = trainer.scores(), trainer.best_scores()
    for entry in scores:
        label = "untrained" if entry["step"] == 0 else f"epoch {entry['epoch']:g}"
        mark = " (kept)" if kept is not None and entry["step"] == kept["step"] else ""
        say(f"{label:>12}  {entry['dev_mean']:6.2f}{mark}")
    say(f"the encoder lies in {arguments.output}; load it with")
    say(f"  hf-paraphrase encode --model {arguments.output} --input FILE --output FILE.npy")
    say(f"  SentenceEncoder.from_pretrained({str(arguments.output)!r})  # from hf_paraphrase import SentenceEncoder")
    trust = ", trust_remote_code=True" if needs_own_code(ENCODER_KINDS[arguments.model_type].model_type) else ""
    say(f"  SentenceTransformer({str(arguments.output)!r}{trust})  # from sentence_transformers")
