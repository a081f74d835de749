"""Configuration of the gated recurrent averaging network."""

from __future__ import annotations

from typing import Any, ClassVar

from .base_configuration import RecurrentLayersConfig


class GranConfig(RecurrentLayersConfig):
    """Configuration of `GranModel`.

    Args:
        hidden_size: The dimension of the word vectors, of the recurrent state and of the sentence embedding: the gate
            multiplies word vectors component by component, so all three must be one.
        variational_dropout_of: What `variational_dropout` acts on: `words`, the word vectors, those that are averaged
            among them, and the recurrent state; or `network`, the inputs of the recurrent network and of the gate, and
            the recurrent state (Gal and Ghahramani 2016), so that the word vectors that are averaged stay whole.
        **kwargs: The settings of `RecurrentLayersConfig`; `direction_merge` says how the states of two directions
            become h_t: `concat`, put side by side, followed by a dense layer with tanh, or `sum`.
    """

    model_type = "gran"

    choices: ClassVar[dict[str, tuple[str, ...]]] = {
        **RecurrentLayersConfig.choices,
        "variational_dropout_of": ("words", "network"),
    }

    variational_dropout_of: str = "words"

    def __post_init__(self, **kwargs: Any) -> None:
        """Keeps a network of an old folder without peepholes."""
        # Every saved configuration names the version that wrote it.
        if self.peepholes is None and self.transformers_version is not None:
            self.peepholes = False
        super().__post_init__(**kwargs)
