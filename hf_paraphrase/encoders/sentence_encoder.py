"""Texts to sentence embeddings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

import numpy as np
from numpy.typing import NDArray

from ..artefacts.hub_models import BUILTIN, model_folder
from ..artefacts.model_loading import load_model_folder
from ..errors import ModelError
from ..models.registry import model_class
from ..settings import check_count
from ..tokenization.token_ids import TokenIds
from ..tokenization.token_lookup import list_of_texts
from ..training.threads import available_threads, in_threads
from .familiar_calls import EncodeOptions, FamiliarCalls, normalized
from .kinds import encoder_type
from .onnx_encoder import OnnxModel, is_onnx_folder, load_onnx_folder
from .padded_batches import embed_in_padded_batches, forward_options, with_progress_bar
from .static_folders import open_static_folder
from .text_tokens import TextTokens
from .truncation import check_truncation, truncated_average
from .vector_table import AVERAGE, Reading, VectorTable, open_table
from .word_averages import Averages, ModelAverages

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

_ROWS_PER_MEAN = 1024
_ROWS_PER_BLOCK = 1 << 14


class SentenceEncoder(FamiliarCalls):
    """Embeds texts with an encoder and its tokenizer.

    An averaging encoder that is opened from a folder is a table, of which a model of PyTorch is made only if somebody
    asks for `model`. Until then nothing here needs PyTorch or transformers, which take seconds to import.

    Args:
        model: An encoder whose `forward` gives `pooler_output` (batch, dim), an exported one, or a table.
        tokenizer: Its fast tokenizer; None for that of a table.
        truncate_dim: Keep the first N components of each embedding, and normalise these if asked to; None for
            all. That is for encoders that were trained for it. Those of a joined encoder are its parts' one behind the
            other, so the first part's are left.

    Attributes:
        results: What was measured when it was trained, if it comes from a training.
        folder: The folder that it was opened from; None if there was none.
    """

    results: dict[str, Any]

    def __init__(
        self,
        model: PreTrainedModel | OnnxModel | VectorTable,
        tokenizer: PreTrainedTokenizerFast | None = None,
        *,
        truncate_dim: int | None = None,
    ) -> None:
        self.truncate_dim: int | None = None
        self._tokenizer = tokenizer
        self._table = model if isinstance(model, VectorTable) else None
        self._model = None if isinstance(model, VectorTable) else model
        reading = Reading() if self._table is None else self._table.reading
        self._tokens = TextTokens(lambda: self.backend, reading)
        if truncate_dim is not None:
            check_truncation(self.dimension, truncate_dim)
            self.truncate_dim = truncate_dim
            if self._table is not None and self._table.model_type == AVERAGE:
                self._table = self._table.truncated(truncate_dim)
            elif self._model is not None and _is_average(self._model):
                self._model = truncated_average(self._model, truncate_dim)
        self.results = {}
        self.folder: Path | None = None
        self._averages: tuple[object, Averages | None] | None = None

    @property
    def model(self) -> Any:
        """The encoder itself, which computes the embeddings from now on if it was a table."""
        if self._model is None:
            assert self._table is not None
            self._model = self._table.model()
        return self._model

    @model.setter
    def model(self, model: PreTrainedModel | OnnxModel) -> None:
        self._model = model

    @property
    def tokenizer(self) -> Any:
        """The tokenizer as transformers has it, which computes the ids from now on."""
        if self._tokenizer is None:
            assert self._table is not None
            self._tokenizer = self._table.tokenizer()
        return self._tokenizer

    @tokenizer.setter
    def tokenizer(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self._tokenizer = tokenizer

    @property
    def backend(self) -> Any:
        """What turns texts into ids: a tokenizer of the `tokenizers` library, or several that act as one."""
        if self._tokenizer is None and self._table is not None:
            return self._table.backend
        return self.tokenizer.backend_tokenizer

    def vocabulary(self) -> tuple[dict[str, int], int | None, list[int]]:
        """Returns the ids of all tokens by their names, that of the unknown token, and those of special tokens."""
        if self._tokenizer is None and self._table is not None:
            special = self._table.special_ids
            return self._table.vocabulary(), special.get("unk_token"), list(special.values())
        tokenizer = self.tokenizer
        return tokenizer.get_vocab(), tokenizer.unk_token_id, tokenizer.all_special_ids

    def truncated(self, truncate_dim: int) -> SentenceEncoder:
        """Makes the encoder that keeps the first N components, or raises `UsageError` if there are fewer."""
        made = SentenceEncoder(self._model or cast(Any, self._table), self._tokenizer, truncate_dim=truncate_dim)
        made.folder, made._tokens.reading = self.folder, self._tokens.reading
        return made

    @classmethod
    def from_pretrained(
        cls,
        folder: str | os.PathLike[str] = BUILTIN,
        *,
        device: str | None = None,
        revision: str | None = None,
        truncate_dim: int | None = None,
    ) -> SentenceEncoder:
        """Opens a model folder, a model of the Hub, or the encoder that is built in.

        Args:
            folder: The folder of a trained encoder, or one that `export` made of it; that of a model2vec model, or of
                a `StaticEmbedding` of sentence-transformers, see :mod:`.static_folders`; or, where there is no such
                folder, the name `namespace/name` of a repository that holds one, of which no code is fetched or run,
                or `builtin`, the encoder that is installed with the package and needs no network.
            device: Where to compute, e.g. `cuda`; None for the CPU, which is all that an ONNX model has.
            revision: The branch, tag or commit of the repository; `main` by default.
            truncate_dim: As for the class.

        Raises:
            ModelError: If the folder is missing, holds another kind of model, or is damaged, or the Hub has no such
                repository.
            HubError: If the Hub cannot be reached.
            UsageError: If it is an ONNX model and onnxruntime is not installed, or the device is not the CPU; if there
                is no such device, or its embeddings cannot be truncated so.
        """
        folder = model_folder(folder, revision=revision)
        if is_onnx_folder(folder):
            encoder = cls(*load_onnx_folder(folder, device=device), truncate_dim=truncate_dim)
        else:
            table = open_static_folder(folder)
            encoder = cls(*(_opened(folder) if table is None else (table, None)), truncate_dim=truncate_dim)
            if device not in {None, "cpu"}:
                encoder.to(device)
        encoder.folder = folder
        return encoder

    def save_pretrained(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Writes an ordinary model folder, which `AutoModel` and sentence-transformers open too, in float32.

        Args:
            folder: The folder; it appears whole or not at all.
            overwrite: Replace an existing one.

        Returns:
            The folder.

        Raises:
            OutputError: If the folder is in the way, or is that of this encoder.
            ModelError: If it is an ONNX model, or one that is not an average and was truncated.
        """
        from .saved_copy import save_copy

        if isinstance(self.model, OnnxModel):
            raise ModelError(
                "an ONNX model cannot be saved as another", path=self.folder, remedy="save the one it was made from"
            )
        if self.dimension < self.model.config.hidden_size:
            raise ModelError(
                f"a model of type `{self.model.config.model_type}` cannot be saved with fewer components than it has",
                path=self.folder,
                remedy="save it whole, and open it with truncate_dim",
            )
        return save_copy(
            folder,
            self.model,
            self.tokenizer,
            source=self.folder,
            truncate_dim=self.truncate_dim,
            overwrite=overwrite,
        )

    @property
    def dimension(self) -> int:
        """The number of components of an embedding."""
        whole = self._table if self._model is None else self._model.config
        return int(self.truncate_dim or getattr(self._model, "dimension", None) or cast(Any, whole).hidden_size)

    @property
    def reading(self) -> Any:
        """What computes the token ids of texts."""
        return self._tokens

    @reading.setter
    def reading(self, reading: Any) -> None:
        self._tokens = reading

    def tokenize(self, texts: str | Sequence[str]) -> list[list[int]]:
        """Computes the token ids of each text, without padding or truncation; a single text is a list of one."""
        return self._tokens.lists(list_of_texts(texts))

    def token_ids(self, texts: str | Sequence[str]) -> TokenIds:
        """Computes the ids that :meth:`tokenize` gives, laid end to end; many times faster for many texts."""
        return TokenIds.joined(self._tokens.blocks(list_of_texts(texts)))

    @overload
    def encode(
        self, texts: str, *, batch_size: int = ..., normalize: bool = ..., show_progress_bar: bool = ...
    ) -> NDArray[np.float32]: ...

    @overload
    def encode(
        self, texts: Sequence[str], *, batch_size: int = ..., normalize: bool = ..., show_progress_bar: bool = ...
    ) -> NDArray[np.float32]: ...

    @overload
    def encode(
        self,
        texts: str | Sequence[str],
        *,
        batch_size: int = ...,
        normalize: bool = ...,
        show_progress_bar: bool = ...,
        **options: Unpack[EncodeOptions],
    ) -> Any: ...

    def encode(
        self,
        texts: str | Sequence[str],
        *,
        batch_size: int = 256,
        normalize: bool = False,
        show_progress_bar: bool = False,
        **options: Unpack[EncodeOptions],
    ) -> Any:
        """Embeds texts.

        Texts of like length share a batch, whatever their order; batch size and order change a result by no more
        than rounding. Averages (`AvgModel`, `ConcatenationModel`) need neither: their tokens are laid end to end,
        and no result depends on any other text. A text without tokens embeds to zeros, and stays zero when normalised.

        Args:
            texts: One text or several.
            batch_size: Texts in a batch at most, for encoders that need padding.
            normalize: Divide each embedding by its Euclidean norm.
            show_progress_bar: Show the progress, in texts, on standard error.
            **options: What sentence-transformers takes as well: `normalize_embeddings`, another name of `normalize`;
                `convert_to_tensor`; `precision`, one of `float32`, `int8`, `uint8`, `binary` and `ubinary`;
                `truncate_dim`, how many components to keep before normalising; `prompt`, what to put before each
                text; `device`, where to move the encoder first.

        Returns:
            float32 (texts, dim) in the order of the texts, or (dim,) for a single text; with options as
            :class:`~.familiar_calls.FamiliarCalls` says, what sentence-transformers gives with them.
        """
        if options:
            return self._encode_with(
                texts, batch_size=batch_size, normalize=normalize, show_progress_bar=show_progress_bar, **options
            )
        if isinstance(texts, str):
            return self.encode([texts], batch_size=batch_size, normalize=normalize)[0]
        return self._embedded(*self._tokens.in_blocks(list_of_texts(texts)), batch_size, normalize, show_progress_bar)

    def encode_token_ids(
        self, ids: TokenIds, *, batch_size: int = 256, normalize: bool = False
    ) -> NDArray[np.float32]:
        """Embeds texts as :meth:`encode` does, float32 (texts, dim), from what :meth:`token_ids` gave for them."""
        texts = len(ids.offsets) - 1
        blocks = [slice(first, min(first + _ROWS_PER_BLOCK, texts)) for first in range(0, texts or 1, _ROWS_PER_BLOCK)]
        return self._embedded(lambda rows: ids.part(rows.start, rows.stop), blocks, batch_size, normalize)

    def _embedded(
        self,
        tokenize: Callable[[slice], TokenIds],
        blocks: list[slice],
        batch_size: int,
        normalize: bool,
        show_progress_bar: bool = False,
    ) -> NDArray[np.float32]:
        """Embeds the texts of all blocks, as float32 (texts, dim)."""
        check_count("batch_size", batch_size)
        normalize = normalize or self._tokens.reading.normalizes
        vectors = np.zeros((blocks[-1].stop, self.dimension), np.float32)
        averages = self._word_averages_of_model()
        if averages is not None:
            steps = self._word_averages(averages, tokenize, blocks, vectors, normalize)
        else:
            ids = TokenIds.joined(in_threads(tokenize, blocks, available_threads()))
            steps = self._padded_batches(ids, batch_size, vectors, normalize)
        if show_progress_bar:
            steps = with_progress_bar(steps, len(vectors))
        for _ in steps:
            pass
        return vectors

    def _word_averages_of_model(self) -> Averages | None:
        """Returns what averages word vectors, or None if the model is not an average."""
        if self._model is None:
            assert self._table is not None
            kept: object = self._table
        else:
            kept = self._model
        if self._averages is None or self._averages[0] is not kept:
            if self._model is None:
                averages: Averages | None = cast(VectorTable, self._table).averages()
            else:
                averages = ModelAverages(cast(Any, self._model)) if _is_table(self._model) else None
            self._averages = kept, averages
        return self._averages[1]

    def _word_averages(
        self,
        averages: Averages,
        tokenize: Callable[[slice], TokenIds],
        blocks: list[slice],
        vectors: NDArray[np.float32],
        normalize: bool,
    ) -> Iterator[int]:
        """Fills `vectors` (texts, dim) with means of word vectors, and yields how many rows are done each time."""
        means = averages.prepared()

        def embed(rows: slice) -> int:
            ids = tokenize(rows)
            for first in range(0, rows.stop - rows.start, _ROWS_PER_MEAN):
                part = means(*ids.part(first, first + _ROWS_PER_MEAN))[:, : vectors.shape[1]]
                start = rows.start + first
                vectors[start : start + len(part)] = normalized(part) if normalize else part
            return rows.stop - rows.start

        yield from map(embed, blocks) if len(blocks) == 1 else in_threads(embed, blocks, available_threads())

    def _padded_batches(
        self, ids: TokenIds, batch_size: int, vectors: NDArray[np.float32], normalize: bool
    ) -> Iterator[int]:
        """Fills `vectors` (texts, dim) in padded batches, and yields how many rows each of them had."""
        model = self.model
        model.eval()
        options = forward_options(model)

        def forward(ids: Tensor, mask: Tensor) -> Tensor:
            whole: Tensor = model(ids, attention_mask=mask, **options).pooler_output
            return whole[:, : self.dimension]

        return embed_in_padded_batches(
            forward,
            ids,
            vectors,
            batch_size=batch_size,
            pad_token_id=self.tokenizer.pad_token_id,
            device=model.device,
            finish=normalized if normalize else None,
        )


def _opened(folder: Path) -> tuple[PreTrainedModel | VectorTable, PreTrainedTokenizerFast | None]:
    """Opens the folder of one of our encoders: an average as a table if it can be."""
    model_type = encoder_type(folder)
    if not isinstance(model_type, str):
        return load_model_folder(folder, model_type)
    table = open_table(folder, model_type)
    return load_model_folder(folder, model_class(model_type)) if table is None else (table, None)


def _is_table(model: PreTrainedModel | OnnxModel) -> bool:
    """Returns whether a model is one of our averages; a subclass may compute something else."""
    from ..models.modeling_avg import AvgModel
    from ..models.modeling_concatenation import ConcatenationModel

    return type(model) in (AvgModel, ConcatenationModel)


def _is_average(model: PreTrainedModel | OnnxModel) -> bool:
    from ..models.modeling_avg import AvgModel

    # A subclass may compute something else.
    return type(model) is AvgModel
