"""What a study may add to the training of an encoder: the hook into which it plugs.

A study registers an :class:`Extension` of the recipe in `hf_paraphrase.registry.EXTENSIONS`. Its settings stand among
those of `train_encoder`; where they ask for it, it looks at the sentences of the pairs and makes an
:class:`Augmentation`, which the trainer takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..settings import Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor
    from transformers import PreTrainedTokenizerFast


class Augmentation:
    """Further pairs to train on, and a further term of the loss; here there is neither.

    Attributes:
        size: The number of further pairs. They are numbered on from the last pair and count as paraphrases.
        weight: The weight of the term; 0 for none.
    """

    size: int = 0
    weight: float = 0.0

    def further(self, pairs: Any, numbers: NDArray[np.int64], epochs: NDArray[np.int64]) -> Any:
        """Returns the :class:`~.encoded_pairs.Sentences` of further pairs: the first ones, then their partners."""
        raise NotImplementedError

    def batch(
        self, pairs: Any, numbers: NDArray[np.int64], epochs: NDArray[np.int64], pad_token_id: int | None
    ) -> dict[str, Tensor]:
        """Returns what the term needs beside a batch, by names that no other has."""
        return {}

    def loss(self, embed: Callable[[Tensor, Tensor], Tensor], inputs: Mapping[str, Any], vectors: Tensor) -> Tensor:
        """Computes the term, a mean over the pairs of the batch."""
        raise NotImplementedError


class Extension:
    """What a study adds to the recipe `train_encoder`.

    Attributes:
        settings: Its settings, a dataclass of keywords; they join those of the recipe, and their check its check.
    """

    settings: ClassVar[type[Settings]]

    @classmethod
    def from_settings(cls, settings: Any) -> Extension | None:
        """Makes one; None where the settings of a run do not ask for it."""
        raise NotImplementedError

    @classmethod
    def inputs(cls, settings: Any) -> list[str]:
        """Lists the files and folders that it reads."""
        return []

    def sentences(self, sentences: Iterable[str]) -> Iterator[str]:
        """Streams the sentences of the pairs, and what else the vocabulary is to have."""
        yield from sentences

    def begin(self, tokenizer: PreTrainedTokenizerFast, scratch: Path) -> None:
        """Hears of the tokenizer before the pairs are read; `scratch` is a folder for large files without a name."""

    def read(self, texts: list[str]) -> None:
        """Hears of the sentences of the next rows of the pairs."""

    def finish(self) -> Augmentation:
        """Returns what the trainer takes, once all pairs were read."""
        raise NotImplementedError

    def results(self) -> dict[str, Any]:
        """Returns what the record of the run says."""
        return {}

    def card(self) -> dict[str, Any]:
        """Returns what the card says, by the names that its template has."""
        return {}
