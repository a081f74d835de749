"""The recipe of the verb `train-encoder`: paraphrase pairs in, a sentence encoder out."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.hub_models import model_folder
from ..artefacts.provenance import inherited_metadata, languages_read
from ..artefacts.remote_paths import to_path
from ..data.sentences import naming
from ..errors import UsageError, no_folder
from ..messages import log
from ..models.sentence_transformers_files import needs_own_code
from ..registry import ENCODERS, LOSSES
from ..settings import recipe
from ..training.run import TrainingRun
from .kinds import encoder_kind, option_names
from .train_settings import EncoderSettings, VocabularySettings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from transformers import PreTrainedModel

    from ..data.pair_rows import PairSource
    from ..training.word_vectors import Coverage
    from .dev_scores import Evaluator
    from .encoded_pairs import EncodedPairs
    from .encoder_vocabulary import EncoderVocabulary
    from .sentence_encoder import SentenceEncoder
    from .trainer import EncoderTrainer


@recipe(EncoderSettings)
def train_encoder(settings: EncoderSettings) -> SentenceEncoder:
    """Trains a sentence encoder on pairs (paper 000, section 4.2) and writes its folder, with card and record.

    Pairs and dev data may be a `Dataset`, and encoders a :class:`~.sentence_encoder.SentenceEncoder`, in the place of
    a folder or name. The `results` of the encoder, as in `provenance.json`, say how it was scored.
    """
    from ..artefacts.provenance import read_provenance
    from .sentence_encoder import SentenceEncoder

    with TrainingRun(settings, command="train-encoder", inputs=_inputs(settings)) as run:
        if not run.is_finished:
            _EncoderTraining(settings, run).make()
    encoder = SentenceEncoder.from_pretrained(settings.output)
    encoder.results = read_provenance(Path(settings.output)).get("results", {})
    return encoder


def dev_evaluator(dev_data: str | None) -> Evaluator | None:
    """Makes what scores an encoder on a dev set."""
    if dev_data is None:
        log("no --dev-data: the last epoch will be kept")
        return None
    if not Path(dev_data).is_dir():
        raise no_folder(dev_data, "check --dev-data")
    from ..evaluation.dev import dev_scorer

    score = dev_scorer(Path(dev_data))
    return lambda encoder: score(encoder.encode)


def trainer_settings(settings: EncoderSettings) -> dict[str, Any]:
    """Returns the settings in the form the Trainer takes of training: those of the loss, batches and steps."""
    import dataclasses

    from .train_settings import LossSettings

    return {
        **{field.name: getattr(settings, field.name) for field in dataclasses.fields(LossSettings)},
        "num_train_epochs": settings.epochs or 0.0,
        "per_device_train_batch_size": settings.batch_size,
        "learning_rate": settings.learning_rate or 0.0,
        "max_grad_norm": settings.max_grad_norm,
        "gradient_accumulation_steps": settings.gradient_accumulation_steps,
        "bf16": settings.precision == "bf16",
    }


def _inputs(settings: EncoderSettings) -> list[str]:
    start = (settings.initial_model, settings.tokenizer, settings.word_list, settings.initial_vectors)
    inputs = (settings.pairs, settings.hard_negatives, *start, settings.dev_data)
    return [item for item in inputs if item is not None]


class _EncoderTraining:
    """The parts of one run: vocabulary, pairs, model, training, folder."""

    def __init__(self, settings: EncoderSettings, run: TrainingRun) -> None:
        self.settings = settings
        self.run = run
        self.coverage: Coverage | None = None

    def make(self) -> None:
        """Trains and writes."""
        from tqdm.auto import tqdm
        from transformers import EarlyStoppingCallback

        from .encoder_vocabulary import initial_encoder, untrained_model
        from .kinds import DROPOUTS
        from .sentence_encoder import SentenceEncoder
        from .trainer import EncoderTrainer, EncoderTrainingArguments

        settings = self.settings
        evaluator = dev_evaluator(settings.dev_data)
        if settings.initial_model is not None:
            dropouts = {name: getattr(settings, name) for name in DROPOUTS}
            encoder, _ = initial_encoder(settings.initial_model, dropouts)
            model: Any = encoder.model
            pairs = self._pairs(encoder)
        else:
            vocabulary = self._vocabulary()
            pairs = self._pairs(vocabulary.tokenizer)
            model, self.coverage = untrained_model(settings, vocabulary, pairs.counts, seed=settings.seed)
            encoder = SentenceEncoder(model, vocabulary.tokenizer)
        log(
            f"{settings.model_type}: {len(pairs)} pairs, {model.config.vocab_size} token vectors of "
            f"{_token_size(model)} components{'' if self.coverage is None else f'; {self.coverage}'}"
        )
        if pairs.labels is None and pairs.are_all_the_same():
            what = "a single pair has" if len(pairs) == 1 else f"all {len(pairs)} pairs are the same and have"
            log(f"{what} no negatives: nothing will be learned")
        # Where training stops early depends on the scores before a resume.
        stopping = {} if settings.patience is None else {"restore_callback_states_from_checkpoint": True}
        arguments = self.run.arguments(EncoderTrainingArguments, **trainer_settings(settings), **stopping)
        trainer = EncoderTrainer(
            encoder,
            arguments,
            pairs,
            evaluator=evaluator,
            callbacks=None if settings.patience is None else [EarlyStoppingCallback(settings.patience)],
            report=lambda text: tqdm.write(text, file=sys.stderr),
        )
        self.run.train(trainer)
        if self.run.writes:
            self._write(trainer, pairs)

    def _vocabulary(self) -> EncoderVocabulary:
        from .encoder_vocabulary import new_vocabulary, sentences_of

        settings = self.settings

        def sentences() -> Iterable[str]:
            return sentences_of(settings.pairs, max_pairs=settings.max_pairs, seed=settings.seed)

        with naming(settings.pairs):
            return new_vocabulary(settings, sentences)

    def _pairs(self, tokenizer: Any) -> EncodedPairs:
        """Tokenises the pairs with a tokenizer, or as an encoder does."""
        from .encoded_pairs import encode_pairs
        from .hard_negatives import mine_hard_negatives
        from .losses import LABELS, asks_for

        settings = self.settings
        source: PairSource = settings.pairs
        if settings.hard_negatives is not None:
            source = mine_hard_negatives(
                settings.pairs, settings.hard_negatives, max_pairs=settings.max_pairs, seed=settings.seed
            )
        scratch = next(folder for folder in Path(settings.output).absolute().parents if folder.is_dir())
        if settings.model_type not in ENCODERS and settings.scramble:
            raise UsageError("--scramble is not for a transformer", remedy="leave it out")
        pairs = encode_pairs(
            source,
            tokenizer,
            max_pairs=settings.max_pairs,
            seed=settings.seed,
            labelled=asks_for(LOSSES[settings.loss], LABELS),
            scratch=scratch,
        )
        if pairs.dropped:
            log(f"{pairs.dropped} pairs with an empty side left out")
        if pairs.not_paraphrases:
            log(f"{pairs.not_paraphrases} pairs labelled 0, no paraphrases, left out")
        return pairs

    def _write(self, trainer: EncoderTrainer, pairs: EncodedPairs) -> None:
        from ..data.pair_rows import sides_of
        from .encoder_vocabulary import name_on_card
        from .losses import described_loss
        from .model_folder import card_values, dev_measurement, dev_results, inherited_by_card, sizes_of

        settings, model = self.settings, trainer.model
        scores, kept = trainer.scores(), trainer.best_scores()
        results = {
            "pairs": len(pairs),
            "pairs_dropped": pairs.dropped,
            "pairs_not_paraphrases": pairs.not_paraphrases,
            "coverage": None if self.coverage is None else vars(self.coverage),
            **dev_results(trainer),
            **sizes_of(model),
        }
        bitext = "source" in sides_of(settings.pairs)
        card = {
            "skip_unknown": False,
            **card_values(model, Path(settings.output).name),
            "kind": settings.model_type if settings.model_type in ENCODERS else "transformer",
            "token_size": _token_size(model),
            "languages": self._languages(bitext),
            "bitext": bitext,
            **inherited_by_card(settings.license, settings.initial_model, settings.initial_vectors),
            "pairs": len(pairs),
            "pairs_name": to_path(settings.pairs).name,
            "dropped": pairs.dropped,
            "epochs": f"{trainer.args.num_train_epochs:g}",
            "initial_vectors": self._start(),
            "initial_model": None if settings.initial_model is None else name_on_card(settings.initial_model),
            "optimizer": "Adam over the rows of a batch" if trainer.sparse_gradients else "Adam",
            **described_loss(trainer.loss),
            "scores": scores,
            "kept_step": None if kept is None else kept["step"],
        }
        trainer.write_model(self.run.folder)
        measured = dev_measurement(settings.dev_data, results["dev_best"], scores)
        recorded = settings.record() | self._taken_over(model)
        self.run.write(results=results, template="encoder", card=card, measurements=[measured], settings=recorded)
        report_encoder(str(settings.output), settings.model_type, scores, kept)

    def _languages(self, bitext: bool) -> list[str]:
        """Returns which languages the encoder is for: those of the pairs, else those of what it continued from."""
        settings = self.settings
        if settings.initial_model is None:
            return languages_read(settings.pairs, english=settings.split_contractions and not bitext)
        before = inherited_metadata(model_folder(settings.initial_model, any_type=True))["language"]
        return languages_read(settings.pairs, english=before == ["en"] and not bitext) or before

    def _taken_over(self, model: PreTrainedModel) -> dict[str, Any]:
        """Returns the settings that the run has from its initial model; those that made a tokenizer are unknown."""
        if self.settings.initial_model is None:
            return {}
        options = ["hidden_size", *self.settings.kind.options]
        return {
            **dict.fromkeys(option_names(VocabularySettings)),
            **{name: getattr(model.config, name) for name in options if hasattr(model.config, name)},
        }

    def _start(self) -> str:
        """Describes for the card what the word vectors started from."""
        from .initial_vectors import SENTENCE_ENCODER, kind_of_source

        source = self.settings.initial_vectors
        if source is None:
            return "random"
        distilled = kind_of_source(source) == SENTENCE_ENCODER
        return f"{'distilled from ' if distilled else ''}{to_path(source).name} ({self.coverage})"


def report_encoder(
    output: str, model_type: str, scores: Sequence[Mapping[str, float]], kept: Mapping[str, float] | None
) -> None:
    """Logs how a finished encoder was scored, and how to open it."""
    for entry in scores:
        label = "untrained" if entry["step"] == 0 else f"epoch {entry['epoch']:g}"
        mark = " (kept)" if kept is not None and entry["step"] == kept["step"] else ""
        log(f"{label:>12}  {entry['dev_mean']:6.2f}{mark}")
    log(f"encoder saved to {output}. Use it with:")
    log(f"  hf-paraphrase encode --model {output} --input FILE --output FILE.npy")
    log(f"  SentenceEncoder.from_pretrained({output!r})  # from hf_paraphrase import SentenceEncoder")
    model = encoder_kind(model_type).model if model_type in ENCODERS else None
    trust = ", trust_remote_code=True" if model and (not isinstance(model, str) or needs_own_code(model)) else ""
    log(f"  SentenceTransformer({output!r}{trust})  # from sentence_transformers")


def _token_size(model: Any) -> int:
    embeddings: Any = getattr(model, "embeddings", None)
    return int(model.config.hidden_size if not hasattr(embeddings, "size") else embeddings.size(1))
