"""The settings of encoder training: the loss, the vocabulary, the model and the run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import ClassVar

from ..data.text_blocks import PLAIN_OR_COMPRESSED
from ..errors import UsageError
from ..registry import ENCODERS, LOSSES
from ..settings import Settings, default_of, flag, is_given, setting
from ..training.run import TrainingRunSettings
from .architectures import Architecture, EncoderOptions, get_architecture, list_option_names

_OF_THE_NETWORK = [name for name in list_option_names(EncoderOptions) if name != "variational_dropout"]
"""The options of an encoder that change more than its training."""
_WORD_STYLE = ("split_contractions", "treebank_words")
_SEARCH = ("negatives_from", "mega_batch_size")
"""The settings of losses that search negatives."""


@dataclass(kw_only=True)
class LossSettings(Settings):
    """The loss of pairs and its regularization; defaults as in Wieting et al. (2017), section 5.2."""

    GROUP: ClassVar[str] = "loss"

    loss: str = setting(
        "margin (Wieting et al. 2017, with searched negatives), ranking (cross-entropy over the scaled cosines of the "
        "batch) or symmetric-ranking (in both directions), triplet (negatives of the data); for pairs with a label, 1 "
        "or 0, or a score from 0 to 1: labelled, also called contrastive (Sjöblom et al. 2018), or cosent",
        "margin",
        choices=LOSSES,
        group=Settings.GROUP,
    )
    margin: float | None = setting(
        "margin of the loss, a difference of cosines, of distances for triplet [default: 0.4; 0.5 for labelled, 5 for "
        "triplet]",
        None,
        at_least=0,
    )
    scale: float | None = setting("factor of the cosines in ranking and cosent losses [default: 20]", None, above=0)
    negatives_from: str = setting(
        "search negatives among both or the opposite sentences of other pairs", "both", choices=["both", "opposite"]
    )
    mega_batch_size: int = setting("number of mini-batches encoded together to choose negatives", 1, at_least=1)
    scramble: float = setting(
        "probability of scrambling the words of a pair, drawn in each epoch", 0.0, at_least=0, at_most=1
    )
    matryoshka: list[int] = setting(
        "also train the first N components alone, so that vectors can be truncated to them, e.g. 32 64 128",
        [],
        at_least=1,
    )
    lambda_c: float = setting(
        "weight of half the squared norm of all parameters except the word vectors", 0.0, at_least=0
    )
    lambda_w: float = setting(
        "weight of half the squared distance of the word vectors from their start", 0.0, at_least=0
    )
    dense_optimizer: bool = setting(
        "update the whole table of word vectors in every step, not only the words of the batch (slower)", False
    )

    def check(self) -> None:
        """Check that the settings are valid."""
        super().check()
        given = [name for name in (*_SEARCH, "margin", "scale") if is_given(self, name)]
        if not given:
            return
        from .losses import NEGATIVES, list_loss_options, loss_requires

        loss = LOSSES[self.loss]
        for name in given:
            if not (loss_requires(loss, NEGATIVES) if name in _SEARCH else name in list_loss_options(loss)):
                raise UsageError(f"{flag(name)} is not for --loss {self.loss}", remedy="leave it out")


@dataclass(kw_only=True)
class VocabularySettings(Settings):
    """The tokens of a new encoder and the initial vectors of its words."""

    GROUP: ClassVar[str] = "vocabulary and word vectors"

    initial_vectors: str | None = setting(
        f"initial word vectors: a file in the text format of GloVe or word2vec, {PLAIN_OR_COMPRESSED}; an encoder "
        "with a table of word vectors (ours, model2vec, StaticEmbedding, builtin); or another sentence encoder, "
        "which embeds all words (the principal components are kept)",
        None,
        path=True,
    )
    tokenizer: str | None = setting(
        "folder of a fast tokenizer, e.g. from train-tokenizer, instead of a tokenizer over the words of the text",
        None,
        excludes=("vocab_size", "min_frequency", "lower_case", *_WORD_STYLE, "word_list"),
        path=True,
    )
    word_list: str | None = setting(
        "file of more words for the vocabulary, one per line (in a file of vectors or counts, only the words are "
        "read)",
        None,
        path=True,
    )
    vocab_size: int = setting(
        "maximum number of words in the vocabulary, and of trigrams; 0 for all",
        200_000,
        at_least=0,
        formerly="vocabulary_size",
    )
    min_frequency: int = setting(
        "a word or trigram of the text enters the vocabulary if it occurs at least N times (or has an initial vector)",
        2,
        at_least=1,
    )
    lower_case: bool = setting("lower-case all text", True, formerly="lowercase")
    split_contractions: bool = setting("split English contractions as the Penn Treebank does (do n't)", True)
    treebank_words: bool = setting(
        "tokenize as the Penn Treebank does (well-known, 1.5, 3,000, u.s. are one word each)", False
    )


@dataclass(kw_only=True)
class NewEncoderSettings(EncoderOptions, VocabularySettings):
    """A new encoder with its type, sizes and tokens, or an encoder to continue from."""

    GROUP: ClassVar[str] = "model"

    model_type: str = setting(
        "avg (mean of word vectors), gran (gated recurrent averaging network), recurrent (LSTM or GRU), trigram (mean "
        "of character-trigram vectors) or word-trigram (avg and trigram concatenated)",
        "avg",
        choices=ENCODERS,
        group=Settings.GROUP,
    )
    initial_model: str | None = setting(
        "a sentence encoder to continue from, with its tokenizer, type and sizes: a folder made by train-encoder, "
        "transformers or sentence-transformers, namespace/name on the Hub, or builtin",
        None,
        excludes=(*list_option_names(VocabularySettings), *_OF_THE_NETWORK, "hidden_size"),
        path=True,
        group=Settings.GROUP,
    )
    hidden_size: int | None = setting(
        "components of word vectors and embeddings, or of each half of word-trigram [default: as the initial vectors, "
        "256 if they are distilled, 300 without any]",
        None,
        at_least=1,
    )
    dropout: float = setting("probability of dropping a component of a word vector", 0.0, at_least=0, below=1)
    word_dropout: float = setting("probability of dropping a whole word; excludes --dropout", 0.0, at_least=0, below=1)
    dev_data: str | None = setting(
        "data that chooses the epoch: a folder with STS 2016 sets, graded pairs (score), labelled pairs (label), or "
        "a bitext (retrieval on its split validation); without it the last epoch is kept",
        None,
        path=True,
        dataset=True,
        group=Settings.GROUP,
    )
    precision: str = setting(
        "precision of the forward pass, also for dev scores: fp32, or bf16 for the operations that are safe in it; "
        "weights and the loss stay fp32",
        "fp32",
        choices=["fp32", "bf16"],
        group="training",
    )

    def check(self) -> None:
        """Refuse settings that do not fit the type of encoder."""
        read_initial_type = None
        if isinstance(self.initial_model, str | os.PathLike):
            read_initial_type = self._adopt_type(os.fspath(self.initial_model))
        super().check()
        self.model_type = read_initial_type or self.model_type
        for option in list_option_names(EncoderOptions):
            if getattr(self, option) is not None and option not in self.kind.options:
                if self.initial_model is not None:
                    what = f"{flag(option)} is not for a model of type `{self.model_type}`"
                    raise UsageError(what, remedy="leave it out")
                able = [name for name in ENCODERS if option in get_architecture(name).options]
                what = f"{flag(option)} is not for --model-type {self.model_type}"
                raise UsageError(what, remedy=f"leave it out, or train {' or '.join(able)}")
        if sum(map(bool, (self.dropout, self.word_dropout, self.variational_dropout))) > 1:
            what = "--dropout, --word-dropout and --variational-dropout exclude each other"
            raise UsageError(what, remedy="give one of them")
        if not self.kind.words:
            for name in ("tokenizer", "word_list", "initial_vectors", *_WORD_STYLE):
                if is_given(self, name):
                    what = f"{flag(name)} is for words, and --model-type {self.model_type} has none"
                    raise UsageError(what, remedy="leave it out")

    @property
    def kind(self) -> Architecture:
        """The architecture of the encoder; a transformer has no options."""
        return get_architecture(self.model_type) if self.model_type in ENCODERS else Architecture(self.model_type, 1.0)

    def _adopt_type(self, initial_model: str) -> str | None:
        """Adopt the type of the initial model, or return the type of a transformer, which is set after the checks."""
        from .encoder_vocabulary import read_initial_type

        model_type = read_initial_type(initial_model)
        if is_given(self, "model_type") and self.model_type != model_type:
            what = f"--model-type {self.model_type}, but --initial-model is of type {model_type}"
            raise UsageError(what, path=initial_model, remedy="leave --model-type out")
        is_ours = model_type in ENCODERS
        self.model_type = model_type if is_ours else str(default_of(type(self).__dataclass_fields__["model_type"]))
        return None if is_ours else model_type


@dataclass(kw_only=True)
class OptimizationSettings(Settings):
    """The settings of the Trainer of transformers that are also flags."""

    GROUP: ClassVar[str] = "training"

    patience: int | None = setting(
        "stop after N dev scores without improvement", None, at_least=1, only_with="dev_data"
    )
    gradient_accumulation_steps: int = setting("batches per update", 1, at_least=1)
    lr_scheduler: str = setting(
        "schedule of the learning rate after the warm-up",
        "constant",
        choices=["constant", "linear", "cosine", "polynomial", "inverse_sqrt"],
    )
    warmup: float = setting(
        "updates in which the learning rate grows from zero; below 1 a fraction of all updates", 0.0, at_least=0
    )
    weight_decay: float = setting(
        "weight decay; above 0 AdamW updates the whole table of word vectors in every step", 0.0, at_least=0
    )
    logging_steps: int | None = setting("log the loss every N updates [default: once per epoch]", None, at_least=1)
    eval_steps: int | None = setting(
        "score the dev data and write a checkpoint every N updates [default: once per epoch]",
        None,
        at_least=1,
        only_with="dev_data",
    )
    max_grad_norm: float = setting("clip the norm of the gradient to this; 0 does not clip", 0.0, at_least=0)
    max_pairs: int | None = setting("train on a random sample of N pairs", None, at_least=1)
    positive_label: str | None = setting(
        "the label or class name that means paraphrase [default: 1, true, paraphrase, duplicate or entailment]; pairs "
        "with other labels are no paraphrases",
        None,
    )


@dataclass(kw_only=True)
class EncoderSettings(NewEncoderSettings, LossSettings, OptimizationSettings, TrainingRunSettings):
    """Train a sentence encoder on paraphrase pairs, by default with the margin loss of Wieting et al. (2017)."""

    pairs: str = setting(
        "data folder (split train) or file of JSON lines, CSV or Parquet with sentence1 and sentence2, anchor and "
        "positive, or source and target; also with negative or negative_1 to negative_n, or {query, pos: [..], neg: "
        "[..]}",
        path=True,
        dataset=True,
    )
    hard_negatives: str | None = setting(
        "an encoder, or builtin: add to each pair, as a negative, the nearest sentence of another pair",
        None,
        path=True,
    )
    epochs: float | None = setting(
        "passes over the pairs; 0 keeps the initial vectors untrained [default: 20 for avg, 3 for gran, 1 for a "
        "transformer]",
        None,
        at_least=0,
    )
    batch_size: int = setting("pairs per batch and process", 100, at_least=1)
    learning_rate: float | None = setting("learning rate [default: 0.001; 2e-5 for a transformer]", None, above=0)

    def check(self) -> None:
        """Refuse settings that do not fit together, and set the defaults that depend on others."""
        super().check()
        if self.margin is None:
            from .losses import list_loss_options

            self.margin = list_loss_options(LOSSES[self.loss]).get("margin")
        if self.epochs is None:
            self.epochs = self.kind.epochs
        if self.learning_rate is None:
            self.learning_rate = 1e-3 if self.model_type in ENCODERS else 2e-5
