"""The configurations of all models; saved with each model.

This file imports no model, so that transformers reads a configuration without PyTorch.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Sequence
from typing import Any, ClassVar

from transformers import AutoConfig, PreTrainedConfig

_PACKAGE = "hf_paraphrase.models"
"""The installed package; a copy saved with a model registers nothing."""
_DROPOUTS = ("dropout", "word_dropout", "variational_dropout")


class ModelConfig(PreTrainedConfig):
    """Fields and checks that the configurations share.

    Args:
        pad_token_id: The id of padding, which never counts.
        unk_token_id: The id of unknown words. They share a trained vector and count like other words.
        skip_unknown: Whether unknown words are skipped, except in sentences of unknown words only.
        initializer_range: The standard deviation of the random initial word vectors.
        dropout: The probability of dropping a single component of a vector in training.
        word_dropout: The probability of dropping the whole vector of a word in training. Means still divide by the
            number of all words. At most one kind of dropout may be above 0.
    """

    choices: ClassVar[dict[str, tuple[str, ...]]] = {}
    """The allowed values of each field that is a choice."""
    # As `register_for_auto_class` sets it: the code is saved with the weights.
    _auto_class = "AutoConfig"

    pad_token_id: int | None = 0
    initializer_range: float = 0.01
    id2label: dict[int, str] | None = None
    label2id: dict[str, int] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Register the configuration with `AutoConfig`."""
        super().__init_subclass__(**kwargs)
        if cls.model_type and cls.__module__.rpartition(".")[0] == _PACKAGE:
            AutoConfig.register(cls.model_type, cls, exist_ok=True)

    def __post_init__(self, **kwargs: Any) -> None:
        """Check the fields, and register the model if the Auto classes of models are imported."""
        is_of_package = type(self).__module__.rpartition(".")[0] == _PACKAGE
        if is_of_package and "transformers.models.auto.modeling_auto" in sys.modules:
            # An import statement would save the registry with the model.
            importlib.import_module(f"{_PACKAGE}.registry").register_type(self.model_type)
        for name, allowed in self.choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {getattr(self, name)!r}")
        dropouts = {name: getattr(self, name) for name in _DROPOUTS if hasattr(self, name)}
        for name, probability in dropouts.items():
            if not 0.0 <= probability < 1.0:
                raise ValueError(f"{name} must be at least 0 and below 1, not {probability}")
        if sum(probability > 0 for probability in dropouts.values()) > 1:
            raise ValueError(f"{', '.join(dropouts)} exclude each other: set all but one of them to 0")
        if getattr(self, "skip_unknown", False) and self.unk_token_id is None:
            raise ValueError("skip_unknown needs unk_token_id, the id that it skips")
        super().__post_init__(**kwargs)
        if self.label2id is None and self.id2label is not None:
            self.label2id = {label: index for index, label in self.id2label.items()}


class AvgConfig(ModelConfig):
    """Configuration of `AvgModel`.

    Args:
        hidden_size: The dimension of the word vectors and of the sentence embedding.
        skip_unknown: Leave unknown words out of the mean (Wieting et al. 2019), or count them (Wieting et al. 2017).
        initial_distribution: The distribution of the random initial vectors, `normal` or `uniform`.
        initializer_range: The standard deviation of the normal distribution, or the bound of the uniform one.
        normalize: Always false. It tells model2vec not to normalize the embeddings.
    """

    model_type = "avg"
    choices: ClassVar[dict[str, tuple[str, ...]]] = {"initial_distribution": ("normal", "uniform")}

    vocab_size: int = 30_000
    hidden_size: int = 300
    unk_token_id: int | None = 1
    dropout: float = 0.0
    word_dropout: float = 0.0
    skip_unknown: bool = False
    normalize: bool = False
    initial_distribution: str = "normal"

    def __post_init__(self, **kwargs: Any) -> None:
        """Check the fields."""
        if self.normalize:
            raise ValueError("an Avg model does not normalise: pass normalize=True to encode instead")
        super().__post_init__(**kwargs)

    def to_diff_dict(self) -> dict[str, Any]:
        """Return the saved fields, and `max_length` null: without it model2vec truncates texts to 512 tokens."""
        # It is no attribute, because transformers reads an attribute of that name as a setting of generation.
        return {**super().to_diff_dict(), "max_length": None}


class ConcatenationConfig(ModelConfig):
    """Configuration of `ConcatenationModel`.

    `vocab_size` is the sum of `vocab_sizes`. `hidden_size`, the dimension of the embedding, is `part_size` times the
    number of parts.

    Args:
        vocab_sizes: The number of token vectors of each part. The parts occupy consecutive ranges of ids.
        part_size: The dimension of the token vectors, the same for all parts.
        part_weights: The weight of each part in the cosine of two sentences, above 0, with any sum. None leaves the
            means as they are.
    """

    model_type = "concatenation"

    vocab_sizes: Sequence[int] = (30_000, 200_000)
    part_size: int = 300
    dropout: float = 0.0
    word_dropout: float = 0.0
    part_weights: Sequence[float] | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        """Compute the derived sizes and check the fields."""
        sizes = self.vocab_sizes = list(self.vocab_sizes)
        if not sizes or min(sizes) < 1 or self.part_size < 1:
            raise ValueError(f"each part needs at least one token vector, not {sizes} of size {self.part_size}")
        if self.part_weights is not None:
            weights = self.part_weights = list(self.part_weights)
            if len(weights) != len(sizes):
                raise ValueError(f"part_weights has {len(weights)} weights for {len(sizes)} parts")
            if not all(0 < weight < math.inf for weight in weights):
                raise ValueError(f"part_weights must be above 0 and finite, not {weights}")
        # Saved for other readers of config.json, and computed again on loading.
        self.vocab_size = kwargs["vocab_size"] = sum(sizes)
        self.hidden_size = kwargs["hidden_size"] = self.part_size * len(sizes)
        super().__post_init__(**kwargs)


class RecurrentLayersConfig(ModelConfig):
    """Configuration of word vectors and of the recurrent layers over them.

    Args:
        vocab_size: The number of word vectors.
        hidden_size: The dimension of the sentence embedding.
        cell: `lstm` or `gru` (Wieting and Gimpel 2017).
        peepholes: Whether the gates of the LSTM read its cell through diagonal weights. None means True for an LSTM,
            as in the reference code of Wieting et al. (2017).
        output_gate: Whether the LSTM has an output gate. Without one, its state is tanh of its cell.
        candidate_activation: The activation of the GRU's candidate state, `leaky_relu` or `tanh`.
        negative_slope: The slope of the leaky ReLU below zero. The default is TensorFlow's; the paper names none.
        bidirectional: Whether a second network reads each sentence from its end.
        direction_merge: How the states of both networks are merged, `concat` or `sum`.
        variational_dropout: The probability of dropping a component of the word vectors and of the recurrent state in
            training, with one mask for all steps of a sentence (Gal and Ghahramani 2016).
        initializer_range: The standard deviation of the random initial word vectors (`lstm`), or the bound of their
            uniform distribution (`gru`).
    """

    choices: ClassVar[dict[str, tuple[str, ...]]] = {
        "cell": ("lstm", "gru"),
        "candidate_activation": ("leaky_relu", "tanh"),
        "direction_merge": ("concat", "sum"),
    }

    vocab_size: int = 30_000
    hidden_size: int = 300
    cell: str = "lstm"
    peepholes: bool | None = None
    output_gate: bool = True
    candidate_activation: str = "leaky_relu"
    negative_slope: float = 0.2
    bidirectional: bool = False
    direction_merge: str = "concat"
    unk_token_id: int | None = 1
    skip_unknown: bool = False
    dropout: float = 0.0
    word_dropout: float = 0.0
    variational_dropout: float = 0.0

    @property
    def initial_distribution(self) -> str:
        """The distribution of the random initial word vectors."""
        return "uniform" if self.cell == "gru" else "normal"

    def __post_init__(self, **kwargs: Any) -> None:
        """Fill in `peepholes` and check that the fields fit together."""
        if self.peepholes is None:
            self.peepholes = self.cell == "lstm"
        if self.cell == "gru" and (self.peepholes or not self.output_gate):
            raise ValueError("peepholes and output_gate are for cell='lstm': a GRU has neither")
        super().__post_init__(**kwargs)


class RecurrentConfig(RecurrentLayersConfig):
    """Configuration of `RecurrentModel`.

    Args:
        embedding_size: The dimension of the word vectors; None means `hidden_size`.
        pooling: The sentence embedding is the `last` state of the network or the `mean` of all its states.
        **kwargs: The settings of `RecurrentLayersConfig`. Each direction has half of `hidden_size` with
            `direction_merge="concat"`, and all of it with `"sum"`. The pooling `last` merges the final states of the
            forward and the backward network.
    """

    model_type = "recurrent"
    choices: ClassVar[dict[str, tuple[str, ...]]] = {**RecurrentLayersConfig.choices, "pooling": ("last", "mean")}

    embedding_size: int | None = None
    pooling: str = "last"

    def __post_init__(self, **kwargs: Any) -> None:
        """Fill in `embedding_size` and check the fields."""
        self.embedding_size = self.hidden_size if self.embedding_size is None else self.embedding_size
        super().__post_init__(**kwargs)
        if self.bidirectional and self.direction_merge == "concat" and self.hidden_size % 2:
            raise ValueError(f"hidden_size must be even to concatenate two directions, not {self.hidden_size}")


class GranConfig(RecurrentLayersConfig):
    """Configuration of `GranModel`.

    Args:
        hidden_size: The dimension of the word vectors, of the recurrent state and of the sentence embedding. All are
            equal, because the gate multiplies word vectors component by component.
        variational_dropout_of: Where `variational_dropout` acts besides the recurrent state. `words` drops components
            of the word vectors everywhere. `network` drops components of the inputs of the recurrent network and of
            the gate (Gal and Ghahramani 2016), and averages word vectors without dropout.
        **kwargs: The settings of `RecurrentLayersConfig`. With `direction_merge="concat"` a dense layer with tanh
            follows the concatenated states.
    """

    model_type = "gran"
    choices: ClassVar[dict[str, tuple[str, ...]]] = {
        **RecurrentLayersConfig.choices,
        "variational_dropout_of": ("words", "network"),
    }

    variational_dropout_of: str = "words"

    def __post_init__(self, **kwargs: Any) -> None:
        """Disable peepholes for folders of old versions, whose networks had none."""
        # Every saved configuration names the version that wrote it.
        if self.peepholes is None and self.transformers_version is not None:
            self.peepholes = False
        super().__post_init__(**kwargs)


class SdaeConfig(ModelConfig):
    """Configuration of `SdaeModel`; sizes as in the reference code of Hill, Cho and Korhonen (2016).

    Args:
        hidden_size: The dimension of the states of encoder and decoder, and of the sentence embedding.
        readout_size: The dimension of a linear layer before the output layer, which makes it cheaper. None
            means no such layer, as in the reference code.
        has_decoder: Whether the model has a decoder. Without one the model only encodes and has no loss.
        share_embeddings: Whether the decoder shares the word vectors of the encoder.
        initialization: `reference` (recurrent and square matrices orthogonal, the rest N(0, `initializer_range`)) or
            `xavier` (recurrent matrices orthogonal, the rest Xavier uniform for each gate).
        pad_token_id: The id of padding. The decoder reads it as the end of the sentence, as in the reference code.
    """

    model_type = "sdae"
    choices: ClassVar[dict[str, tuple[str, ...]]] = {"initialization": ("reference", "xavier")}

    vocab_size: int = 30_000
    hidden_size: int = 2400
    embedding_size: int = 100
    readout_size: int | None = None
    has_decoder: bool = True
    share_embeddings: bool = True
    initialization: str = "reference"
    unk_token_id: int | None = 1
    skip_unknown: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        """Check the fields."""
        if self.pad_token_id is None:
            raise ValueError("pad_token_id is needed: for the decoder it is the end of a sentence")
        super().__post_init__(**kwargs)


class ParallelBiGruConfig(ModelConfig):
    """Configuration of `ParallelBiGruModel`; with the sizes of Grégoire and Langlais (2017) as defaults.

    Args:
        source_vocab_size: The number of word vectors of the source language; 126,000 to 140,000 in the paper.
        target_vocab_size: The same for the target language; 103,000 to 119,000 in the paper.
        embedding_size: The dimension of the word vectors of both languages.
        hidden_size: The dimension of the recurrent state in each direction; a sentence vector is twice as long.
        score_layer: `bilinear`, sigmoid(h_S' M h_T + b) (equation 1), or `product_difference`, a hidden layer with
            tanh over the product and the absolute difference of the sentence vectors (the authors' later code).
        score_hidden_size: The size of that hidden layer.
        share_rnn: Whether both languages share the recurrent weights, as in the authors' later code.
        source_lang: The language code of the source, for model cards.
        target_lang: The language code of the target.
    """

    model_type = "parallel_bigru"
    attribute_map: ClassVar[dict[str, str]] = {"vocab_size": "source_vocab_size"}
    choices: ClassVar[dict[str, tuple[str, ...]]] = {"score_layer": ("bilinear", "product_difference")}

    source_vocab_size: int = 140_000
    target_vocab_size: int = 119_000
    embedding_size: int = 300
    hidden_size: int = 200
    score_layer: str = "bilinear"
    score_hidden_size: int = 128
    share_rnn: bool = False
    unk_token_id: int | None = 1
    dropout: float = 0.0
    initializer_range: float = 0.1
    source_lang: str | None = None
    target_lang: str | None = None


class RnnSearchConfig(ModelConfig):
    """Configuration of an RNNsearch model, with the sizes of Bahdanau et al. (2015) as defaults.

    Args:
        vocab_size: The number of target subwords.
        source_vocab_size: The number of source subwords; None means `vocab_size`.
        embedding_size: The dimension of the word embeddings of both languages, and of the low-rank output layer.
        hidden_size: The dimension of the GRU states; an annotation is twice as long (both directions).
        attention_size: The size of the alignment model's hidden layer; None means `hidden_size`.
        readout_size: The size of the readout before maxout halves it; None means `hidden_size`.
        dropout: The rate on embeddings, annotations and readout in training (the paper uses none).
        label_smoothing: The probability that the training loss spreads over the vocabulary.
        tie_word_embeddings: Whether the output matrix is the target embedding matrix.
        share_embeddings: Whether source and target share the embedding matrix, which needs a joint vocabulary.
        initialization: `reference` (recurrent matrices orthogonal, the rest small normal) or `xavier` (recurrent
            matrices orthogonal, the rest Glorot uniform, embeddings N(0, 1/embedding_size)). `xavier` learns to attend
            within hundreds instead of thousands of updates.
        initializer_range: The standard deviation of most matrices in the reference's initialization.
        attention_initializer_range: The same for the two matrices of the alignment model. Its vector starts at zero.
        lowercase: Whether the model was trained on lower-cased text. Its tokenizer lower-cases by itself.
        source_lang: The language code of the source, for cards and provenance.
        target_lang: The language code of the target.
    """

    model_type = "rnn_search"
    keys_to_ignore_at_inference = ["past_key_values", "cache", "encoder_last_hidden_state"]  # noqa: RUF012
    choices: ClassVar[dict[str, tuple[str, ...]]] = {"initialization": ("reference", "xavier")}

    vocab_size: int = 30_000
    source_vocab_size: int | None = None
    embedding_size: int = 620
    hidden_size: int = 1000
    attention_size: int | None = None
    readout_size: int | None = None
    dropout: float = 0.0
    label_smoothing: float = 0.0
    share_embeddings: bool = False
    tie_word_embeddings: bool = False
    initialization: str = "reference"
    attention_initializer_range: float = 0.001
    lowercase: bool = False
    source_lang: str | None = None
    target_lang: str | None = None

    bos_token_id: int | None = 1
    eos_token_id: int | list[int] | None = 2
    decoder_start_token_id: int | None = 1
    is_encoder_decoder: bool = True
    use_cache: bool = True

    def __post_init__(self, **kwargs: Any) -> None:
        """Fill in the derived sizes and check that the fields fit together."""
        self.attention_size = self.attention_size or self.hidden_size
        self.readout_size = self.readout_size or self.hidden_size
        self.source_vocab_size = self.source_vocab_size or self.vocab_size
        if self.readout_size % 2:
            raise ValueError(f"readout_size={self.readout_size} must be even: maxout halves it")
        if self.share_embeddings and not (self.tie_word_embeddings and self.source_vocab_size == self.vocab_size):
            raise ValueError("share_embeddings=True needs tie_word_embeddings=True and a joint vocabulary")
        super().__post_init__(**kwargs)


class SentenceClassifierConfig(ModelConfig):
    """Configuration of `SentenceClassifier`; `vocab_size` and `pad_token_id` come from the encoder.

    Args:
        sentence_encoder: The encoder's configuration as a dictionary, with its `model_type`.
        pairs: Whether the model classifies pairs of sentences.
        objective: `classification` (a softmax over classes), `multi_label` (a sigmoid for each label), `distribution`
            (a softmax over the whole numbers of a scale, whose mean is the score) or `regression` (one number).
        head_hidden_size: The size of the hidden layer for pairs; 50 in Tai, Socher and Manning (2015).
        ordered: Whether the head also reads the two sentence vectors, so that their order matters. In the papers it
            reads their product and their distance only.
        lowest_score: The lowest whole number of the scale of a distribution.
        highest_score: The highest whole number of the scale.
        score_mean: The mean score of a regression, which is added to the scaled output.
        score_deviation: The standard deviation of the score, the factor of the output.
    """

    model_type = "sentence_classifier"
    choices: ClassVar[dict[str, tuple[str, ...]]] = {
        "objective": ("classification", "multi_label", "distribution", "regression")
    }

    sentence_encoder: dict[str, Any] | None = None
    pairs: bool = False
    objective: str = "classification"
    head_hidden_size: int = 50
    ordered: bool = False
    lowest_score: int = 1
    highest_score: int = 5
    score_mean: float = 0.0
    score_deviation: float = 1.0
    dropout: float = 0.0

    def __post_init__(self, **kwargs: Any) -> None:
        """Fill in the derived fields and check all."""
        # transformers makes a configuration without arguments to learn the defaults.
        encoder = self.sentence_encoder = self.sentence_encoder or {"model_type": "avg"}
        if not isinstance(encoder.get("model_type"), str):
            raise ValueError("sentence_encoder must name its model_type")
        sizes = encoder.get("vocab_sizes") or [encoder.get("vocab_size", 1)]
        self.vocab_size = kwargs["vocab_size"] = sum(sizes)
        self.pad_token_id = encoder.get("pad_token_id", 0)
        names = {"distribution": range(self.lowest_score, self.highest_score + 1), "regression": ["score"]}
        expected = names.get(self.objective)
        if self.id2label is None and expected is not None:
            self.id2label = {index: str(name) for index, name in enumerate(expected)}
        # The text-classification pipeline reads it.
        types = {"regression": "regression", "multi_label": "multi_label_classification"}
        self.problem_type = types.get(self.objective, "single_label_classification")
        super().__post_init__(**kwargs)
        if expected is not None and self.num_labels != len(expected):
            raise ValueError(f"a {self.objective} has {len(expected)} outputs here, not {self.num_labels}")
