"""Configuration of the recurrent sentence encoders."""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedConfig

_CELLS = ("lstm", "gru")
_ACTIVATIONS = ("leaky_relu", "tanh")
_MERGES = ("concat", "sum")
_POOLINGS = ("last", "mean")


class RecurrentConfig(PreTrainedConfig):
    """Configuration of `RecurrentModel`.

    Args:
        vocab_size: The number of word vectors.
        hidden_size: The dimension of the sentence embedding.
        embedding_size: The dimension of the word vectors; None: that of the sentence embedding.
        cell: `lstm` (paper 001) or `gru` (that of paper 003).
        pooling: The sentence embedding is the `last` state of the network or the `mean` of all its states.
        peepholes: Whether the gates of the LSTM see its cell through diagonal weights. None: they do, as in the
            reference code.
        output_gate: Whether the LSTM has an output gate; without one its state is tanh of its cell.
        candidate_activation: The function f of the GRU's candidate state, `leaky_relu` (paper 003) or `tanh`.
        negative_slope: The slope of the leaky ReLU below zero; the paper is silent, 0.2 is TensorFlow's default.
        bidirectional: Whether a second network reads each sentence from its end.
        direction_merge: How the states of both become one: `concat`, side by side, each of half of `hidden_size`, or
            `sum`, each of all of it. With the pooling `last` they are the states with which each network ends, the
            one behind the last word and the other before the first.
        pad_token_id: The id that fills up short sentences of a batch; it never counts.
        unk_token_id: The id of unknown words, which have a trained vector and count in the mean.
        skip_unknown: Whether unknown words are left out like padding instead, save in sentences of nothing else.
        dropout: The probability with which a single component of a word vector is dropped in training.
        word_dropout: The probability with which a whole word vector is dropped in training.
        variational_dropout: The probability with which a component of the word vectors, and one of the recurrent
            state on its way into the next step, is dropped in training, the same at every step of a sentence (Gal and
            Ghahramani 2016). At most one of the three may be above 0.
        initializer_range: The standard deviation of the random initial word vectors (`lstm`), or the bound of their
            uniform distribution (`gru`, paper 003 section 3.2).

    Raises:
        ValueError: For an unknown cell, pooling, activation or merge, a setting of the other cell, several kinds of
            dropout at once, a probability outside [0, 1), `skip_unknown` without `unk_token_id`, or an odd
            `hidden_size` that is to be halved.
    """

    model_type = "recurrent"

    def __init__(
        self,
        vocab_size: int = 30_000,
        hidden_size: int = 300,
        embedding_size: int | None = None,
        cell: str = "lstm",
        pooling: str = "last",
        peepholes: bool | None = None,
        output_gate: bool = True,
        candidate_activation: str = "leaky_relu",
        negative_slope: float = 0.2,
        bidirectional: bool = False,
        direction_merge: str = "concat",
        pad_token_id: int | None = 0,
        unk_token_id: int | None = 1,
        skip_unknown: bool = False,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
        variational_dropout: float = 0.0,
        initializer_range: float = 0.01,
        **kwargs: Any,
    ) -> None:
        choices = {
            "cell": (cell, _CELLS),
            "candidate_activation": (candidate_activation, _ACTIVATIONS),
            "direction_merge": (direction_merge, _MERGES),
            "pooling": (pooling, _POOLINGS),
        }
        for name, (value, allowed) in choices.items():
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
        if cell == "gru" and (peepholes or not output_gate):
            raise ValueError("peepholes and output_gate are for cell='lstm': a GRU has neither")
        probabilities = {"dropout": dropout, "word_dropout": word_dropout, "variational_dropout": variational_dropout}
        for name, probability in probabilities.items():
            if not 0.0 <= probability < 1.0:
                raise ValueError(f"{name} must be at least 0 and below 1, not {probability}")
        if sum(probability > 0 for probability in probabilities.values()) > 1:
            raise ValueError(f"{', '.join(probabilities)} exclude each other: set all but one of them to 0")
        if skip_unknown and unk_token_id is None:
            raise ValueError("skip_unknown needs unk_token_id, the id that it skips")
        if bidirectional and direction_merge == "concat" and hidden_size % 2:
            raise ValueError(f"hidden_size must be even for two directions side by side, not {hidden_size}")
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.embedding_size = hidden_size if embedding_size is None else embedding_size
        self.cell = cell
        self.pooling = pooling
        self.peepholes = cell == "lstm" if peepholes is None else peepholes
        self.output_gate = output_gate
        self.candidate_activation = candidate_activation
        self.negative_slope = negative_slope
        self.bidirectional = bidirectional
        self.direction_merge = direction_merge
        self.unk_token_id = unk_token_id
        self.skip_unknown = skip_unknown
        self.dropout = dropout
        self.word_dropout = word_dropout
        self.variational_dropout = variational_dropout
        self.initializer_range = initializer_range
        super().__init__(pad_token_id=pad_token_id, **kwargs)


RecurrentConfig.register_for_auto_class()
