"""The command `train-classifier`: trains a classifier that distinguishes references from translations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..artefacts.card_metadata import Measurement
from ..artefacts.files import quiet_transformers
from ..artefacts.fsspec_path import to_path
from ..artefacts.provenance import languages_read
from ..messages import log
from ..settings import recipe, setting
from ..tables import format_table
from ..training.run import TrainingRun, TrainingRunSettings
from .references import FILE_NAME, PARTS, Reference, draw_references, write_seen

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from .classifier import ReferenceScorer

_LABELS = {0: "translation", 1: "reference"}
_ENCODERS: dict[str, dict[str, Any]] = {
    "avg": {"model_type": "avg", "initializer_range": 0.1},
    "lstm": {"model_type": "recurrent", "cell": "lstm", "peepholes": False, "pooling": "last"},
}
"""The encoders of the two bodies. The paper does not describe its LSTM; this one has a single layer."""


@dataclass(kw_only=True)
class ReferenceClassifierSettings(TrainingRunSettings):
    """Train a classifier that distinguishes references from translations (Wieting et al. 2017, section 5.6.1).

    Each reference (sentence1) is an example of label 1, a translation of its n-best list (sentence2) of label 0. The
    folder lists the references it has seen in references.tsv; `score --classifier` marks their pairs in the
    column classifier_seen, and `filter --keep 'classifier_seen==0'` leaves them out.
    """

    pairs: str = setting(
        "data folder of back-translated pairs, best with an n-best list for each reference", path=True, dataset=True
    )
    body: str = setting(
        "avg (mean of word vectors) or lstm (state after the last word)", "avg", choices=("avg", "lstm")
    )
    negatives: str = setting(
        "which translation of each n-best list an epoch uses: random, or hardest (chosen when the epoch begins: the "
        "one with the highest probability of being a reference)",
        "random",
        choices=("random", "hardest"),
    )
    train_size: int = setting(
        "references to train on; all three sizes shrink by one factor if there are fewer", 40_000, at_least=1
    )
    dev_size: int = setting("references to choose the epoch on", 5_000, at_least=1)
    test_size: int = setting("references to report accuracy on", 5_000, at_least=1)
    initial_vectors: str | None = setting("initial word vectors, as for train-encoder", None, path=True)
    embedding_size: int = setting("components of a word vector", 300, at_least=1, excludes="initial_vectors")
    epochs: int = setting("passes over the references", 10, at_least=1)
    batch_size: int = setting("sentences per batch and process", 100, at_least=1)
    learning_rate: float = setting("learning rate of Adam, constant", 1e-3, above=0)
    embedding_penalty: float = setting("weight of half the squared norm of the word vectors", 0.0, at_least=0)


@recipe(ReferenceClassifierSettings)
def train_classifier(settings: ReferenceClassifierSettings) -> ReferenceScorer:
    """Train a classifier that distinguishes references from translations (Wieting et al. 2017, section 5.6.1)."""
    inputs = [path for path in (settings.pairs, settings.initial_vectors) if path is not None]
    with TrainingRun(settings, command="train-classifier", inputs=inputs) as run:
        if not run.is_finished:
            _train(settings, run)

    from .classifier import ReferenceScorer

    return ReferenceScorer.from_pretrained(settings.output)


def _train(settings: ReferenceClassifierSettings, run: TrainingRun) -> None:
    """Train the classifier, and write it in the process that writes."""
    sizes = (settings.train_size, settings.dev_size, settings.test_size)
    parts = draw_references(settings.pairs, sizes, seed=settings.seed)
    tokenizer, model = _model(settings, parts["train"])

    from ..tokenization.word_level import save_tokenizer
    from .reference_examples import ReferenceExamples, ReferenceLists
    from .trainer import ClassifierTrainer, ClassifierTrainingArguments

    lists = {part: ReferenceLists.encode(parts[part], tokenizer) for part in PARTS}
    examples = ReferenceExamples(lists["train"], lists["dev"], hardest=settings.negatives == "hardest")
    arguments = run.arguments(ClassifierTrainingArguments, embedding_penalty=settings.embedding_penalty)
    trainer = ClassifierTrainer(model, arguments, examples, report=log)
    run.train(trainer)
    if not run.writes:
        return
    with quiet_transformers():
        model.eval().save_pretrained(run.folder)
    save_tokenizer(tokenizer, run.folder)
    write_seen(run.folder, {part: [reference.text for reference in parts[part]] for part in PARTS})
    best = trainer.best_scores()
    assert best is not None
    results: dict[str, Any] = {
        "test": lists["test"].test(model, settings.seed),
        "dev": {name: best[name] for name in ("accuracy", "references", "translations", "sentences")},
        "best_epoch": best["epoch"],
        "epochs": trainer.scores(),
        "references": {part: len(parts[part]) for part in PARTS},
        "translations": {part: sum(len(reference.translations) for reference in parts[part]) for part in PARTS},
        "vocabulary": model.config.vocab_size,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
    }
    table = _table(results)
    run.write(
        results=results,
        template="reference_classifier",
        card={
            "languages": languages_read(settings.pairs, english=True),
            "pairs_name": to_path(settings.pairs).name,
            "vectors_name": to_path(settings.initial_vectors).name if settings.initial_vectors else "random",
            "config": model.config.to_dict(),
            "table": table,
            "seen_file": FILE_NAME,
        },
        measurements=[
            Measurement(
                task="text-classification",
                dataset=settings.pairs,
                split=part,
                metric="accuracy",
                value=results[part]["accuracy"],
                name=f"accuracy (%; as many references as translations{note})",
                task_name="Distinguishing references from translations",
            )
            for part, note in (("test", ""), ("dev", "; it chose the epoch"))
        ],
    )
    log(table.rstrip())
    log(f"classifier saved to {settings.output}. Add its probabilities to pairs with:")
    log(f"  hf-paraphrase score --pairs DIR --classifier {settings.output} --output DIR")


def _model(
    settings: ReferenceClassifierSettings, train: Sequence[Reference]
) -> tuple[PreTrainedTokenizerFast, PreTrainedModel]:
    """Build the tokenizer over the words of the training part, and the classifier with its initial vectors."""
    from transformers import set_seed

    from ..encoders.initial_vectors import read_initial_vectors
    from ..models.configurations import SentenceClassifierConfig
    from ..models.modeling_sentence_classifier import SentenceClassifier
    from ..tokenization.word_level import build_word_level_tokenizer, sentence_vocabulary
    from .classifier import fill_word_vectors

    texts = [one.text for one in train] + [text for one in train for text in one.translations]
    # With capitals the classifier may go by names and beginnings.
    style: dict[str, Any] = {"lower_case": True, "contractions": True}
    words = sentence_vocabulary(texts, min_frequency=2, max_size=50_000, **style)
    tokenizer = build_word_level_tokenizer(words, **style)
    vectors, size = None, settings.embedding_size
    if settings.initial_vectors is not None:
        vectors = read_initial_vectors(settings.initial_vectors, words, first=0)
        size = vectors.matrix.shape[1]
    set_seed(settings.seed)
    ids = {"pad_token_id": tokenizer.pad_token_id, "unk_token_id": tokenizer.unk_token_id}
    encoder = {**_ENCODERS[settings.body], **ids, "vocab_size": len(tokenizer), "hidden_size": size}
    model = SentenceClassifier(SentenceClassifierConfig(sentence_encoder=encoder, id2label=dict(_LABELS)))
    if vectors is not None:
        fill_word_vectors(model.encoder, tokenizer, vectors, texts, settings.seed)
    return tokenizer, model


def _table(results: dict[str, Any]) -> str:
    rows = []
    for part in ("test", "dev"):
        percentages = [f"{results[part][key]:.1f}" for key in ("accuracy", "references", "translations")]
        rows.append([part, *percentages, f"{results[part]['sentences']:.0f}"])
    return format_table(["part", "accuracy (%)", "on references (%)", "on translations (%)", "sentences"], rows)
