"""Configuration of the gated recurrent averaging network."""

from __future__ import annotations

from typing import Any, ClassVar

from .base_configuration import RecurrentLayersConfig


class GranConfig(RecurrentLayersConfig):
    """Configuration of `GranModel`.

    Args:
        hidden_size: The dimension of the word vectors, of the recurrent state and of the sentence embedding. All are
            equal, because the gate multiplies word vectors component by component.
        variational_dropout_of: Where `variational_dropout` acts besides the recurrent state. `words` drops components
            of the word vectors everywhere. `network` drops components of the inputs of the recurrent network and of
            the gate (Gal and Ghahramani 2016), and averages the whole word vectors.
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
        """Keep a network of an old folder without peepholes."""
        # Every saved configuration names the version that wrote it.
        if self.peepholes is None and self.transformers_version is not None:
            self.peepholes = False
        super().__post_init__(**kwargs)
