"""Configuration of a classification or regression head on a sentence encoder."""

from __future__ import annotations

from typing import Any, ClassVar

from .base_configuration import ModelConfig

OBJECTIVES = ("classification", "multi_label", "distribution", "regression")


class SentenceClassifierConfig(ModelConfig):
    """Configuration of `SentenceClassifier`.

    `vocab_size` and `pad_token_id` come from the encoder.

    Args:
        sentence_encoder: The encoder's configuration as a dictionary, with its `model_type`.
        pairs: Whether the model classifies pairs of sentences.
        objective: `classification` (a softmax over classes), `multi_label` (a sigmoid for each label), `distribution`
            (a softmax over the whole numbers of a scale, whose mean is the score) or `regression` (one number).
        head_hidden_size: Size of the hidden layer for pairs; 50 in Tai, Socher and Manning (2015).
        ordered: Whether the head also reads the two sentence vectors, so that their order matters. In the papers it
            reads their product and their distance only.
        lowest_score: The lowest whole number of the scale of a distribution.
        highest_score: The highest whole number of the scale.
        score_mean: The mean score of a regression, which is added to the scaled output.
        score_deviation: The standard deviation of the score, the factor of the output.
    """

    model_type = "sentence_classifier"

    choices: ClassVar[dict[str, tuple[str, ...]]] = {"objective": OBJECTIVES}

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
