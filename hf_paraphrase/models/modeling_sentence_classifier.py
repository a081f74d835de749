"""A classification or regression head on a sentence encoder; saved with the encoder's files."""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel, initialization
from transformers.dynamic_module_utils import custom_object_save, get_class_from_dynamic_module
from transformers.modeling_outputs import SequenceClassifierOutput
from transformers.utils import can_return_tuple

from .configurations import SentenceClassifierConfig

_CLASS_REFERENCE = re.compile(r"modeling_\w+\.[A-Za-z]\w*", re.ASCII)


class SentenceClassifier(PreTrainedModel):
    """A sentence encoder with a head, trained together (Wieting et al. 2016).

    For one sentence with the vector u, z = W u + b. For a pair with the vectors u and v (Tai, Socher and Manning 2015,
    equations 15 to 17),

        h = sigmoid(W' (u * v) + W'' |u - v| + b')        z = W h + b

    and with `ordered` also W''' u + W'''' v within the sigmoid. By the configuration's objective,

    * classification: P(class) = softmax(z), and the loss is the cross-entropy;
    * multi_label: P(label) = sigmoid(z), and the loss is the mean binary cross-entropy;
    * distribution: P(score) = softmax(z) over the whole numbers of the scale, and the score is its mean. The loss is
      the KL divergence to the target distribution: the two whole numbers next to the score, with the score as mean;
    * regression: the score is `score_mean` + `score_deviation` · z, and the loss is the squared error of z.

    The tokens of a transformer are mean-pooled. Matrices of the head start Xavier uniform, its biases at 0.
    """

    config_class = SentenceClassifierConfig
    base_model_prefix = "encoder"
    _auto_class = "AutoModelForSequenceClassification"
    main_input_name = "input_ids"

    def __init__(self, config: SentenceClassifierConfig) -> None:
        super().__init__(config)
        self.encoder = _encoder(config)
        size = int(self.encoder.config.hidden_size)
        features = (4 if config.ordered else 2) * size
        self.hidden = nn.Linear(features, config.head_hidden_size) if config.pairs else None
        self.classifier = nn.Linear(config.head_hidden_size if config.pairs else size, config.num_labels)
        self.post_init()

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            initialization.xavier_uniform_(module.weight)
            initialization.zeros_(module.bias)

    def resize_token_embeddings(self, *args: Any, **kwargs: Any) -> nn.Embedding:
        """Resize the embeddings of the encoder."""
        layer: nn.Embedding = self.encoder.resize_token_embeddings(*args, **kwargs)
        self.config.vocab_size = layer.weight.shape[0]
        self.config.sentence_encoder = self.encoder.config.to_diff_dict()
        return layer

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        second_input_ids: Tensor | None = None,
        second_attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        **kwargs: Any,
    ) -> SequenceClassifierOutput:
        """Classify a batch of sentences, or of pairs with `second_input_ids` (batch, other length).

        Masks are non-zero where a token counts; None means all tokens but padding. `labels` are class ids, int64
        (batch,), zeros and ones, float (batch, labels), or scores, float (batch,). `logits` (batch, labels) are z, or
        the score of a regression. With labels, `loss` is a mean over the batch.
        """
        outputs = self.head(self.features(input_ids, attention_mask, second_input_ids, second_attention_mask))
        loss = None if labels is None else self.loss(outputs.float(), labels)
        if self.config.objective == "regression":
            outputs = self.config.score_mean + self.config.score_deviation * outputs
        return SequenceClassifierOutput(loss=loss, logits=outputs)

    def features(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        second_input_ids: Tensor | None = None,
        second_attention_mask: Tensor | None = None,
    ) -> Tensor:
        """Compute the input of the head (batch, size): the vector of a sentence, or u * v and |u - v| of a pair."""
        if (second_input_ids is not None) != self.config.pairs:
            raise ValueError(f"this model reads {'pairs of sentences' if self.config.pairs else 'single sentences'}")
        first = self._embed(input_ids, attention_mask)
        if second_input_ids is None:
            return first
        second = self._embed(second_input_ids, second_attention_mask)
        parts = [first * second, (first - second).abs()]
        return torch.cat([*parts, first, second] if self.config.ordered else parts, dim=1)

    def head(self, features: Tensor) -> Tensor:
        """Compute z (batch, labels) from :meth:`features`."""
        if self.hidden is not None:
            features = self.hidden(functional.dropout(features, self.config.dropout, self.training)).sigmoid()
        outputs: Tensor = self.classifier(functional.dropout(features, self.config.dropout, self.training))
        return outputs

    def loss(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Compute the mean loss of z (batch, labels); see :meth:`forward` for the labels."""
        config = self.config
        if config.objective == "classification":
            return functional.cross_entropy(outputs, labels)
        labels = labels.to(outputs.dtype)
        if config.objective == "multi_label":
            return functional.binary_cross_entropy_with_logits(outputs, labels)
        if config.objective == "regression":
            return functional.mse_loss(outputs.squeeze(1), (labels - config.score_mean) / config.score_deviation)
        # The target of each whole number is 1 minus its distance from the score, at least 0.
        targets = (1 - (labels.unsqueeze(1) - self._scale(outputs)).abs()).clamp_min(0)
        return functional.kl_div(outputs.log_softmax(1), targets, reduction="batchmean")

    def scores(self, logits: Tensor) -> Tensor:
        """Turn the logits (batch, labels) of a distribution or a regression into scores (batch,)."""
        if self.config.objective == "regression":
            return logits.squeeze(1)
        return logits.softmax(1) @ self._scale(logits)

    def save_pretrained(self, save_directory: str | os.PathLike[str], *args: Any, **kwargs: Any) -> None:
        """Save the model with all code, so that the folder opens without this package."""
        if kwargs.get("is_main_process", True) and self.encoder._auto_class is not None:
            Path(save_directory).mkdir(parents=True, exist_ok=True)
            custom_object_save(self.encoder, save_directory, config=self.config.sentence_encoder)
        super().save_pretrained(save_directory, *args, **kwargs)

    def _embed(self, input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
        if not _is_of_transformers(self.config):
            vectors: Tensor = self.encoder(input_ids, attention_mask, return_token_vectors=False).pooler_output
            return vectors
        mask = (input_ids != self.config.pad_token_id).long() if attention_mask is None else attention_mask
        hidden = self.encoder(input_ids=input_ids, attention_mask=mask).last_hidden_state
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        return (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp_min(1)

    def _scale(self, like: Tensor) -> Tensor:
        """Return all scores from the lowest to the highest (labels,), with the type and device of `like`."""
        return like.new_tensor(range(self.config.lowest_score, self.config.highest_score + 1))


def _is_of_transformers(config: SentenceClassifierConfig) -> bool:
    """Return whether the encoder is of a built-in type of transformers, whose tokens are mean-pooled."""
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    return (config.sentence_encoder or {}).get("model_type") in MODEL_MAPPING_NAMES


def _encoder(config: SentenceClassifierConfig) -> PreTrainedModel:
    """Make the encoder with random weights, by a class of transformers, of this package, or of the model's folder."""
    # These mappings list this class too, so they are imported after it.
    from transformers import CONFIG_MAPPING, MODEL_MAPPING

    settings = dict(config.sentence_encoder or {})
    model_type = settings["model_type"]
    if not __name__.startswith("transformers_modules.") or _is_of_transformers(config):
        if not _is_of_transformers(config):
            # An import statement would save the registry with the model.
            importlib.import_module(f"{__package__}.registry").register()
        if model_type not in CONFIG_MAPPING or CONFIG_MAPPING[model_type] not in MODEL_MAPPING:
            raise ValueError(f"there is no sentence encoder of type `{model_type}`")
        config_class = CONFIG_MAPPING[model_type]
        return MODEL_MAPPING[config_class](config_class.from_dict(settings))
    # The caller trusts the code of this folder, so only code of this folder may be loaded.
    reference = str((settings.get("auto_map") or {}).get("AutoModel"))
    if not _CLASS_REFERENCE.fullmatch(reference):
        raise ValueError(f"the configuration does not name the encoder's code in this folder: {reference[:80]}")
    model_class = get_class_from_dynamic_module(
        reference, config.name_or_path, revision=getattr(config, "_commit_hash", None)
    )
    return model_class(model_class.config_class.from_dict(settings))
