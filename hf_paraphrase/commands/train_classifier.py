"""`train-classifier`: back-translated n-best lists to a classifier that tells references from translations."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.cards import write_card
from ..artefacts.folders import check_output, check_unfinished, staging_path
from ..artefacts.measurements import Measurement
from ..artefacts.origins import languages_read
from ..artefacts.provenance import write_provenance
from ..data.text_files import PLAIN_OR_COMPRESSED
from ..errors import UsageError
from ..filtering.reference_classifier.reference_lists import PARTS, DrawnLists, draw_reference_lists
from ..filtering.reference_classifier.seen_references import FILE_NAME, write_seen
from ..messages import is_main_process, say
from ..settings import setting, settings_of
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
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from ..filtering.reference_classifier.classifier_trainer import ClassifierTrainer
    from ..filtering.reference_classifier.reference_examples import ReferenceExamples


@dataclass
class Arguments:
    """Train a classifier that tells references from translations (paper 000, section 5.6.1).

    One reference (sentence1) is the example of label 1, one translation of its n-best list (sentence2) that of label
    0. The folder lists the references it has seen in references.tsv; `score --classifier` marks their pairs in the
    column classifier_seen, and `filter --keep 'classifier_seen==0'` leaves them out.
    """

    pairs: str = setting("data folder of back-translated pairs, best with an n-best list for each reference")
    output: str = setting("the model folder to make")
    body: str = setting("avg (mean of word vectors) or lstm (state behind the last word)", "avg")
    negatives: str = setting(
        "which translation of an n-best list an epoch sees: random, or hardest (chosen when the epoch begins, as the "
        "one with the highest probability of being a reference)",
        "random",
    )
    mined: list[str] = setting(
        "data folders of pairs whose references, by id or by text, the classifier must not see", []
    )
    train_size: int = setting("references to train on; all three sizes shrink alike where there are fewer", 40_000)
    dev_size: int = setting("references to choose the epoch on", 5_000)
    test_size: int = setting("references to report accuracy on", 5_000)
    initial_vectors: str | None = setting(
        f"word vectors to start from, in the text layout of GloVe or word2vec, {PLAIN_OR_COMPRESSED}", None
    )
    vocabulary_size: int = setting(
        "words in the vocabulary at most, those of the training part; 0 for all",
        50_000,
        names=["--vocabulary-size", "--vocab-size"],
    )
    min_frequency: int = setting("a word enters the vocabulary if it occurs so many times in the training part", 2)
    lower_case: bool = setting(
        "lower-case all text (most translation models give lower-cased text)",
        True,
        names=["--lower-case", "--lowercase"],
    )
    split_contractions: bool = setting("split English contractions as the Penn Treebank does (do n't)", True)
    embedding_size: int | None = setting(
        "components of a word vector [default: as the initial vectors, else 300]", None
    )
    hidden_size: int | None = setting("components of the LSTM's state [default: as the word vectors]", None)
    epochs: int = setting("passes over the references", 10)
    batch_size: int = setting("sentences in a batch on each process", 100)
    learning_rate: float = setting("learning rate of Adam, constant", 1e-3)
    embedding_penalty: float = setting("weight of half the squared norm of the word vectors", 0.0)
    dropout: float = setting("probability to drop a component of a word vector or of the sentence vector", 0.0)
    seed: int = setting("seed of the draws, the initial weights, the order and dropout", 0)
    report_to: str = setting("where the Trainer logs to, e.g. tensorboard; none for nowhere", "none")
    license: str | None = setting(
        "the licence of the model for the card, as the Hub spells it, e.g. apache-2.0 [default: none is claimed]", None
    )
    overwrite: bool = setting("replace an existing output folder", False)
    resume: bool = setting("continue a run that was interrupted, with the same result", False)


def main(argv: Sequence[str]) -> None:
    """Runs `train-classifier`.

    Raises:
        UsageError: For arguments that do not fit.
        InputError: For missing or malformed pairs or vectors, or too few references.
        OutputError: If the output is in the way, or the unfinished run had other settings.
    """
    arguments = parse(Arguments, "train-classifier", argv)
    check(arguments)
    output = check_output(arguments.output, overwrite=arguments.overwrite)
    if is_main_process():
        # Before the long work, because the staging folder itself refuses only after it.
        check_unfinished(output, overwrite=arguments.overwrite, resume=arguments.resume)
    settings = settings_of(arguments)
    if end_at_once(output, settings, lambda: job_of(settings, _inputs(arguments))):
        return
    sizes = (arguments.train_size, arguments.dev_size, arguments.test_size)
    drawn = draw_reference_lists(arguments.pairs, sizes, mined=arguments.mined, seed=arguments.seed)
    _tell(drawn)
    tokenizer, model, coverage = _model(arguments, drawn)

    from ..filtering.reference_classifier.reference_examples import ReferenceExamples

    examples = {part: ReferenceExamples.encode(drawn.parts[part], tokenizer) for part in PARTS}
    if not examples["train"].has_choice:
        if arguments.negatives == "hardest":
            raise UsageError(
                "--negatives hardest needs n-best lists, but every reference has one translation",
                remedy="leave it out, or translate with --num-return-sequences above 1",
            )
        say("every reference has one translation: each epoch sees the same examples")
    if not is_main_process():
        _train(arguments, model, examples, staging_path(output))
        return
    with checkpointed_output(arguments.output, overwrite=arguments.overwrite, resume=arguments.resume) as staging:
        trainer = _train(arguments, model, examples, staging)
        results = _write(arguments, drawn, trainer, tokenizer, examples, coverage, staging)
    say(_table(results["test"], results["dev"]).rstrip())
    say(f"the classifier lies in {arguments.output}; add its probabilities to pairs with")
    say(f"  hf-paraphrase score --pairs DIR --classifier {arguments.output} --output DIR")


def check(arguments: Arguments) -> None:
    """Refuses arguments that do not fit.

    Raises:
        UsageError: For a value out of range, and for one that another argument excludes.
    """
    check_license(arguments.license)
    for name, allowed in (("body", ("avg", "lstm")), ("negatives", ("random", "hardest"))):
        value = getattr(arguments, name)
        if value not in allowed:
            raise UsageError(f"--{name} `{value}` is unknown", remedy=f"one of {', '.join(allowed)}")
    positive = ("train_size", "dev_size", "test_size", "min_frequency", "embedding_size", "hidden_size", "epochs")
    for name in (*positive, "batch_size", "learning_rate"):
        value = getattr(arguments, name)
        if value is not None and not value > 0:
            raise UsageError(f"--{name.replace('_', '-')} must be above 0, not {value}")
    for name in ("vocabulary_size", "embedding_penalty", "seed"):
        if not getattr(arguments, name) >= 0:
            raise UsageError(f"--{name.replace('_', '-')} must not be negative, not {getattr(arguments, name)}")
    if not 0 <= arguments.dropout < 1:
        raise UsageError("--dropout must be at least 0 and below 1")
    if arguments.body == "avg" and arguments.hidden_size not in (None, arguments.embedding_size):
        raise UsageError("--hidden-size is for --body lstm", remedy="leave it out, or give --embedding-size")


def _tell(drawn: DrawnLists) -> None:
    counts = ", ".join(f"{len(drawn.parts[part]):,} {part}" for part in PARTS)
    say(f"{drawn.available:,} distinct references; drawn: {counts}")
    if drawn.share < 1:
        say(f"there are too few for the sizes asked for: each part has {drawn.share:.1%} of its size")
    if drawn.excluded:
        say(f"{drawn.excluded:,} references left out because they are among the mined pairs")
    if drawn.without_translation:
        say(f"{drawn.without_translation:,} references left out because no translation differs from them")


def _model(arguments: Arguments, drawn: DrawnLists) -> tuple[PreTrainedTokenizerFast, PreTrainedModel, Any]:
    """Builds the tokenizer over the words of the training part, and the classifier with its initial vectors."""
    import numpy as np
    import torch
    from transformers import set_seed

    from ..filtering.reference_classifier.reference_classification import token_arrays
    from ..models.configuration_reference_classifier import ReferenceClassifierConfig
    from ..models.modeling_reference_classifier import ReferenceClassifier
    from ..tokenization.word_level import build_word_level_tokenizer, sentence_vocabulary
    from ..training.word_vectors import initial_embeddings, read_word_vectors

    train = drawn.parts["train"]
    texts = [*train.references, *(text for items in train.translations for text in items)]
    style: dict[str, Any] = {"lower_case": arguments.lower_case, "contractions": arguments.split_contractions}
    limit = arguments.vocabulary_size or None
    words = sentence_vocabulary(texts, min_frequency=arguments.min_frequency, max_size=limit, **style)
    tokenizer = build_word_level_tokenizer(words, **style)
    vectors = None
    if arguments.initial_vectors is not None:
        vectors = read_word_vectors(arguments.initial_vectors, set(words), first=0)
        if arguments.embedding_size not in (None, vectors.matrix.shape[1]):
            raise UsageError(
                f"--embedding-size {arguments.embedding_size}, but the initial vectors have "
                f"{vectors.matrix.shape[1]} components",
                remedy="leave --embedding-size out",
            )
    size = vectors.matrix.shape[1] if vectors is not None else arguments.embedding_size or 300
    set_seed(arguments.seed)
    model = ReferenceClassifier(
        ReferenceClassifierConfig(
            vocab_size=len(tokenizer),
            embedding_size=size,
            hidden_size=arguments.hidden_size if arguments.body == "lstm" else None,
            body=arguments.body,
            pad_token_id=tokenizer.pad_token_id,
            unk_token_id=tokenizer.unk_token_id,
            dropout=arguments.dropout,
        )
    )
    if vectors is None:
        return tokenizer, model, None
    counts = np.bincount(token_arrays(tokenizer, texts)[0], minlength=len(tokenizer))
    matrix, coverage = initial_embeddings(
        tokenizer.convert_ids_to_tokens(range(len(tokenizer))),
        vectors,
        dimension=size,
        pad_id=tokenizer.pad_token_id,
        unknown_id=tokenizer.unk_token_id,
        counts=counts,
        frequency_weights=False,
        seed=arguments.seed,
    )
    with torch.no_grad():
        model.embeddings.copy_(torch.from_numpy(matrix))
    say(f"initial vectors: {coverage}")
    return tokenizer, model, coverage


def _train(
    arguments: Arguments, model: PreTrainedModel, examples: dict[str, ReferenceExamples], staging: Path
) -> ClassifierTrainer:
    import torch
    from tqdm.auto import tqdm

    from ..filtering.reference_classifier.classifier_trainer import ClassifierTrainer, ClassifierTrainingArguments

    training_arguments = ClassifierTrainingArguments(
        output_dir=str(staging / CHECKPOINTS),
        num_train_epochs=float(arguments.epochs),
        per_device_train_batch_size=arguments.batch_size,
        learning_rate=arguments.learning_rate,
        negatives=arguments.negatives,
        embedding_penalty=arguments.embedding_penalty,
        seed=arguments.seed,
        report_to=arguments.report_to,
        use_cpu=not torch.accelerator.is_available(),
    )
    checkpoint = find_checkpoint(staging, settings_of(arguments), _inputs(arguments))
    trainer = ClassifierTrainer(
        model,
        training_arguments,
        examples["train"],
        examples["dev"],
        report=lambda text: tqdm.write(text, file=sys.stderr),
    )
    train_from(trainer, checkpoint)
    return trainer


def _write(
    arguments: Arguments,
    drawn: DrawnLists,
    trainer: ClassifierTrainer,
    tokenizer: PreTrainedTokenizerFast,
    examples: dict[str, ReferenceExamples],
    coverage: Any,
    staging: Path,
) -> dict[str, Any]:
    from ..tokenization.word_level import save_tokenizer

    trainer.model.save_pretrained(staging)
    save_tokenizer(tokenizer, staging)
    write_seen(
        staging,
        (
            (part, ",".join(ids), int(number))
            for part in PARTS
            for ids, number in zip(drawn.parts[part].ids, drawn.parts[part].fingerprints, strict=True)
        ),
    )
    kept = trainer.best_scores()
    assert kept is not None
    results: dict[str, Any] = {
        "test": vars(trainer.test(examples["test"])),
        "dev": {name: kept[name] for name in ("accuracy", "references", "translations", "sentences")},
        "best_epoch": kept["epoch"],
        "epochs": trainer.scores(),
        "references": {part: len(drawn.parts[part]) for part in PARTS},
        "share_of_sizes": drawn.share,
        "references_available": drawn.available,
        "references_mined": drawn.excluded,
        "references_without_translation": drawn.without_translation,
        "translations": {part: int(examples[part].lists[-1] - examples[part].lists[0]) for part in PARTS},
        "coverage": None if coverage is None else vars(coverage),
        "vocabulary": trainer.model.config.vocab_size,
        "parameters": sum(item.numel() for item in trainer.model.parameters()),
    }
    settings = settings_of(arguments)
    write_provenance(
        staging, command="train-classifier", settings=settings, inputs=_inputs(arguments), results=results
    )
    write_card(
        staging,
        "model_cards",
        "reference_classifier",
        {
            **settings,
            **results,
            "name": Path(arguments.output).name,
            "languages": languages_read(arguments.pairs, english=arguments.split_contractions),
            "pairs_name": Path(arguments.pairs).name,
            "mined_names": [Path(item).name for item in arguments.mined],
            "vectors_name": Path(arguments.initial_vectors).name if arguments.initial_vectors else "random",
            "config": trainer.model.config.to_dict(),
            "table": _table(results["test"], results["dev"]),
            "seen_file": FILE_NAME,
        },
        [
            _measured(arguments.pairs, "test", results),
            _measured(arguments.pairs, "dev", results, "; it chose the epoch"),
        ],
    )
    return results


def _measured(pairs: str, part: str, results: dict[str, Any], note: str = "") -> Measurement:
    return Measurement(
        task="text-classification",
        dataset=pairs,
        split=part,
        metric="accuracy",
        value=results[part]["accuracy"],
        name=f"accuracy (%; as many references as translations{note})",
        task_name="Telling references from translations",
    )


def _inputs(arguments: Arguments) -> list[str]:
    vectors = [] if arguments.initial_vectors is None else [arguments.initial_vectors]
    return [arguments.pairs, *arguments.mined, *vectors]


def _table(test: dict[str, float], dev: dict[str, float]) -> str:
    from ..evaluation.tables import format_table

    rows = [
        [
            name,
            *(f"{found[key]:.1f}" for key in ("accuracy", "references", "translations")),
            f"{found['sentences']:.0f}",
        ]
        for name, found in (("test", test), ("dev", dev))
    ]
    return format_table(["part", "accuracy (%)", "on references (%)", "on translations (%)", "sentences"], rows)
