"""Configuration of a classification or regression head on a sentence encoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformers import PreTrainedConfig

OBJECTIVES = ("classification", "distribution", "regression")


class SentenceClassifierConfig(PreTrainedConfig):
    """Configuration of `SentenceClassifier`.

    `vocab_size` and `pad_token_id` are those of the encoder.

    Args:
        sentence_encoder: The entries of the encoder's own configuration, its `model_type` among them.
        pairs: Whether two sentences are judged together, or one.
        objective: `classification` (a softmax over classes), `distribution` (a softmax over the whole numbers of a
            scale, whose mean is the score) or `regression` (one number).
        head_hidden_size: Units of the hidden layer for pairs (Tai, Socher and Manning 2015 have 50). A single
            sentence has none.
        ordered: Whether the two sentences of a pair themselves are seen too, so that their order matters. The papers
            see their product and their distance alone.
        lowest_score: The low end of the scale of a distribution, a whole number.
        highest_score: Its high end.
        score_mean: What a regression adds to its number.
        score_deviation: What it multiplies it with before.
        dropout: The probability with which a component of the sentence vector, or a hidden unit, is dropped in
            training. The encoder has its own.
    """

    model_type = "sentence_classifier"

    def __init__(
        self,
        sentence_encoder: Mapping[str, Any] | None = None,
        pairs: bool = False,
        objective: str = "classification",
        head_hidden_size: int = 50,
        ordered: bool = False,
        lowest_score: int = 1,
        highest_score: int = 5,
        score_mean: float = 0.0,
        score_deviation: float = 1.0,
        dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        # transformers makes a configuration without arguments to learn the defaults.
        encoder = {"model_type": "avg"} if sentence_encoder is None else dict(sentence_encoder)
        if not isinstance(encoder.get("model_type"), str):
            raise ValueError("sentence_encoder must name its model_type")
        if objective not in OBJECTIVES:
            raise ValueError(f"objective must be one of {', '.join(OBJECTIVES)}, not {objective!r}")
        if not highest_score > lowest_score:
            raise ValueError(f"the scale must have two numbers at least, not {lowest_score} to {highest_score}")
        if not score_deviation > 0:
            raise ValueError(f"score_deviation must be above 0, not {score_deviation}")
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"dropout must be at least 0 and below 1, not {dropout}")
        if head_hidden_size < 1:
            raise ValueError(f"head_hidden_size must be at least 1, not {head_hidden_size}")
        self.sentence_encoder = encoder
        self.pairs = pairs
        self.objective = objective
        self.head_hidden_size = head_hidden_size
        self.ordered = ordered
        self.lowest_score = lowest_score
        self.highest_score = highest_score
        self.score_mean = score_mean
        self.score_deviation = score_deviation
        self.dropout = dropout
        sizes = encoder.get("vocab_sizes")
        self.vocab_size = sum(sizes) if isinstance(sizes, list) else int(encoder.get("vocab_size", 1))
        for derived in ("vocab_size", "pad_token_id"):
            kwargs.pop(derived, None)
        if objective == "distribution":
            names = {place: str(score) for place, score in enumerate(range(lowest_score, highest_score + 1))}
            kwargs.setdefault("id2label", names)
        elif objective == "regression":
            kwargs.setdefault("id2label", {0: "score"})
        if "id2label" in kwargs:
            kwargs.setdefault("label2id", {label: int(number) for number, label in kwargs["id2label"].items()})
        # The text-classification pipeline reads it.
        kwargs["problem_type"] = "regression" if objective == "regression" else "single_label_classification"
        super().__init__(pad_token_id=encoder.get("pad_token_id", 0), **kwargs)
        expected = {"distribution": highest_score - lowest_score + 1, "regression": 1}.get(objective, self.num_labels)
        if self.num_labels != expected:
            raise ValueError(f"a {objective} has {expected} outputs here, not {self.num_labels}")


SentenceClassifierConfig.register_for_auto_class()
