"""Texts to sentence embeddings, by any encoder: one class with three backends.

A backend is a static table (NumPy alone), a module of PyTorch whose `forward` gives `pooler_output`, or an ONNX graph;
what is in a folder decides which. Beside our own, methods have the names that users of sentence-transformers,
LangChain and scikit-learn know; `docs/guide/migration.md` has a table of them.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import logging
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ..artefacts.hub_models import BUILTIN, model_folder
from ..errors import UsageError, choice_of
from ..messages import log
from ..registry import TRUST_REMOTE_CODE
from ..threads import available_threads, in_threads
from ..tokenization.ragged_ids import TokenIds
from ..vectors.checks import check_counts, check_finite
from ..vectors.quantization import Precision, check_precision, quantize_embeddings
from ..vectors.similarity import unit_rows
from .architectures import encoder_class, is_of_transformers, third_party_type
from .backends.batch_tokenizer import BatchTokenizer, InputProcessing
from .backends.mean_pooler import MeanPooler, averages_of_model, embed_averages
from .backends.onnx_graph import OnnxModel, is_onnx_folder, load_onnx_folder
from .backends.padded_batches import embed_in_padded_batches, evaluation_mode, with_progress_bar
from .backends.sentence_transformers_files import check_module_types, optional_json, read_options
from .backends.static_table import StaticTable, read_static

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

    from .backends.pooled_transformer import PooledTransformer

    Model: TypeAlias = PreTrainedModel | PooledTransformer | OnnxModel | StaticTable
    Texts: TypeAlias = str | Sequence[str]
    Comparable: TypeAlias = Texts | NDArray[np.floating]

_ROWS_PER_BLOCK = 1 << 14
_LOGGER = logging.getLogger(__name__)


class SentenceEncoder:
    """Embeds texts with an encoder and its tokenizer.

    An averaging encoder that is opened from a folder is a table, of which a model of PyTorch is made only if somebody
    asks for `model`. Until then nothing here needs PyTorch or transformers, which take seconds to import.

    Args:
        model: A name or folder, as :meth:`from_pretrained` takes it; a model of transformers, whose token vectors are
            averaged; another encoder whose `forward` gives `pooler_output` (batch, dim); an exported one; or a table.
        tokenizer: Its fast tokenizer; None for that of a table, a name or a folder.
        device: Where to compute, e.g. `cuda`; None for where the model is.
        truncate_dim: Keep the first N components of each embedding, for encoders that were trained for it. Those of a
            joined encoder are its parts' one after the other, so the first part's are left.
        prompts: What to put before texts, by name.
        reading: What is done with texts before the tokenizer, and with embeddings after the model.

    Attributes:
        results: What was measured when it was trained, if it comes from a training.
        folder: The folder that it was opened from; None if there was none.
    """

    def __init__(
        self,
        model: Model | str | os.PathLike[str] = BUILTIN,
        tokenizer: Any = None,
        *,
        device: str | None = None,
        truncate_dim: int | None = None,
        prompts: Mapping[str, str] | None = None,
        default_prompt_name: str | None = None,
        reading: InputProcessing | None = None,
    ) -> None:
        if isinstance(model, str | os.PathLike):
            opened = SentenceEncoder.from_pretrained(model, device=device, truncate_dim=truncate_dim)
            self.__dict__.update(opened.__dict__)
            return
        if tokenizer is None and not isinstance(model, StaticTable):
            raise UsageError("a model object needs its tokenizer", remedy="give that too, or the name of a folder")
        self.results: dict[str, Any] = {}
        self.folder: Path | None = None
        if is_of_transformers(model):
            from .backends.pooled_transformer import PooledTransformer, reading_of

            if tokenizer.pad_token_id is None:
                raise UsageError("the tokenizer has no padding token", remedy="set its pad_token first")
            reading = reading or reading_of(model, tokenizer)
            model = PooledTransformer(cast(Any, model))
        self._table = model if isinstance(model, StaticTable) else None
        self._model: Any = None if isinstance(model, StaticTable) else model
        self._tokenizer = tokenizer
        if reading is None:
            reading = InputProcessing() if self._table is None else self._table.reading
        self._tokens = BatchTokenizer(reading)
        self._averages: MeanPooler | None = None
        self.prompts = dict(prompts or {})
        self.default_prompt_name = default_prompt_name
        self.truncate_dim = truncate_dim
        if device not in {None, "cpu"}:
            self.to(str(device))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_averages": None}

    @classmethod
    def from_pretrained(
        cls,
        folder: str | os.PathLike[str] = BUILTIN,
        *,
        device: str | None = None,
        revision: str | None = None,
        truncate_dim: int | None = None,
        dtype: str | torch.dtype | None = None,
        trust_remote_code: bool | None = None,
    ) -> SentenceEncoder:
        """Opens a model folder, a model of the Hub, or the encoder that is built in.

        Args:
            folder: A folder of ours, or one that `export` made of it; of sentence-transformers (its pooling, dense
                layers, normalisation, prompts and `max_seq_length` are followed); of an encoder of transformers (mean
                of its token vectors); of model2vec; the name `namespace/name` of a repository that holds one; or
                `builtin`, the encoder that is installed with the package.
            device: Where to compute, e.g. `cuda`; None for the CPU, which is all that an ONNX model has.
            revision: The branch, tag or commit of the repository; `main` by default.
            truncate_dim: As for the class.
            dtype: The type in which a transformer of another library computes, e.g. `bfloat16`.
            trust_remote_code: Run the code that the folder of such a transformer brings; None for what
                `hf-paraphrase --trust-remote-code` says, by default no.
        """
        if trust_remote_code is None:
            trust_remote_code = os.environ.get(TRUST_REMOTE_CODE) == "1"
        local = model_folder(folder, revision=revision)
        check_module_types(local, trust_remote_code)
        is_third_party = third_party_type(local) is not None
        if is_third_party:
            if optional_json(local / "config.json").get("model_type") is not None:
                from .backends.pooled_transformer import check_settings

                # Of what is refused here the weights are not fetched.
                check_settings(local, local, trust_remote_code)
            local = model_folder(folder, revision=revision, any_type=True, with_code=trust_remote_code)
            check_module_types(local, trust_remote_code)
        options = {**read_options(local), "device": device}
        if truncate_dim is not None:
            options["truncate_dim"] = truncate_dim
        if is_onnx_folder(local):
            encoder = cls(*load_onnx_folder(local), **options)
        elif (table := read_static(local)) is not None:
            encoder = cls(table, **options)
        elif is_third_party:
            from .backends.pooled_transformer import open_transformer
            from .backends.sentence_transformers_pipeline import open_by_library

            given: dict[str, Any] = {"dtype": dtype, "trust_remote_code": trust_remote_code}
            model, tokenizer, reading = open_transformer(local, **given) or open_by_library(local, **given)
            encoder = cls(model, tokenizer, reading=reading, **options)
        else:
            from ..artefacts.model_loading import load_model_folder

            encoder = cls(*load_model_folder(local, encoder_class(local)), **options)
        encoder.folder = local
        return encoder

    @property
    def unchanged_folder(self) -> Path | None:
        """The folder whose vectors this one gives: that of a table or a graph, which nothing has changed since."""
        is_fixed = self._model is None or isinstance(self._model, OnnxModel)
        reading = InputProcessing() if self._table is None else self._table.reading
        return self.folder if is_fixed and self.truncate_dim is None and self.reading == reading else None

    @property
    def is_table(self) -> bool:
        """Whether embeddings are computed from a table, without a model of PyTorch or an ONNX graph."""
        return self._model is None

    @property
    def model(self) -> Any:
        """The encoder itself, which computes the embeddings from now on if it was a table."""
        if self._model is None:
            self._model = cast(StaticTable, self._table).model()
        return self._model

    @property
    def tokenizer(self) -> Any:
        """The tokenizer as transformers has it, which computes the ids from now on."""
        if self._tokenizer is None:
            self._tokenizer = cast(StaticTable, self._table).tokenizer()
        return self._tokenizer

    @property
    def backend(self) -> Any:
        """What turns texts into ids: a tokenizer of the `tokenizers` library, or several that act as one."""
        if self._tokenizer is None and self._table is not None:
            return self._table.backend
        return self.tokenizer.backend_tokenizer

    @property
    def reading(self) -> InputProcessing:
        """What is done with texts before the tokenizer, and with embeddings after the model."""
        return self._tokens.reading

    @reading.setter
    def reading(self, reading: InputProcessing) -> None:
        self._tokens = BatchTokenizer(reading)

    @property
    def dimension(self) -> int:
        """The number of components of an embedding."""
        return self.truncate_dim or self._whole_dimension

    @property
    def _whole_dimension(self) -> int:
        if self._model is None:
            return cast(StaticTable, self._table).hidden_size
        return int(getattr(self._model, "dimension", None) or self._model.config.hidden_size)

    @property
    def truncate_dim(self) -> int | None:
        """How many components of an embedding are kept; None for all."""
        return self._truncate_dim

    @truncate_dim.setter
    def truncate_dim(self, truncate_dim: int | None) -> None:
        if truncate_dim is not None:
            _check_truncation(self._whole_dimension, truncate_dim)
        self._truncate_dim, self._averages = truncate_dim, None

    @property
    def max_seq_length(self) -> int | None:
        """How many tokens of a text are read, special ones among them; None for all."""
        length: int | None = getattr(self._model, "max_seq_length", self.reading.most_tokens)
        return length

    @max_seq_length.setter
    def max_seq_length(self, length: int | None) -> None:
        if length is not None:
            check_counts(max_seq_length=length)
        if hasattr(self._model, "max_seq_length"):
            self._model.max_seq_length = length
            return
        self.reading = dataclasses.replace(self.reading, most_tokens=length)

    def get_sentence_embedding_dimension(self) -> int:
        """Returns the number of components of an embedding."""
        return self.dimension

    def vocabulary(self) -> tuple[dict[str, int], int | None, list[int]]:
        """Returns the ids of all tokens by their names, that of the unknown token, and those of special tokens."""
        if self._tokenizer is None and self._table is not None:
            special = self._table.special_ids
            return self._table.backend.get_vocab(), special.get("unk_token"), list(special.values())
        tokenizer = self.tokenizer
        return tokenizer.get_vocab(), tokenizer.unk_token_id, tokenizer.all_special_ids

    def truncated(self, truncate_dim: int) -> SentenceEncoder:
        """Makes the encoder that keeps the first N components, or raises `UsageError` if there are fewer."""
        made = copy.copy(self)
        made.truncate_dim = truncate_dim
        return made

    @property
    def device(self) -> torch.device:
        """Where the model computes."""
        device: torch.device = self.model.device
        return device

    def to(self, device: str | torch.device) -> Self:
        """Moves the model to a device, e.g. `cuda`, and returns the encoder."""
        import torch

        if isinstance(self._model, OnnxModel):
            if torch.device(device).type != "cpu":
                what = f"an ONNX model computes on the CPU here, not on {device}"
                raise UsageError(what, remedy="open the model that it was made from")
            return self
        try:
            self._model = self.model.to(device)
        except (RuntimeError, AssertionError) as error:
            raise UsageError(f"the device {device} cannot be used: {error}", remedy="see hf-paraphrase env") from error
        return self

    def tokenize(self, texts: Texts) -> list[list[int]]:
        """Computes the token ids of each text, without padding; a single text is a list of one."""
        ids, offsets = self.token_ids(texts)
        return [part.tolist() for part in np.split(ids, offsets[1:-1])] if len(offsets) > 1 else []

    def token_ids(self, texts: Texts) -> TokenIds:
        """Computes the ids that :meth:`tokenize` gives, laid end to end; many times faster for many texts."""
        prepared = self._tokens.prepared(texts, self._prompt(None, None))
        return TokenIds.joined(self._tokens.blocks(self.backend, prepared))

    def encode(
        self,
        texts: Texts,
        *,
        batch_size: int = 256,
        normalize: bool = False,
        show_progress_bar: bool | None = False,
        normalize_embeddings: bool = False,
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        precision: Precision = "float32",
        truncate_dim: int | None = None,
        prompt: str | None = None,
        prompt_name: str | None = None,
        device: str | None = None,
    ) -> Any:
        """Embeds texts.

        Texts of similar length share a batch, whatever their order; batch size and order change a result by no more
        than rounding. Averages (`AvgModel`, `ConcatenationModel`) need neither: their tokens are laid end to end,
        and no result depends on any other text. A text without tokens embeds to zeros, and stays zero when normalised.

        Args:
            texts: One text, or several in a list, a tuple, an array, a column of pandas, Arrow or datasets.
            batch_size: Texts in a batch at most, for encoders that need padding.
            normalize: Divide each embedding by its Euclidean norm.
            show_progress_bar: Show the progress, in texts, on standard error.
            normalize_embeddings: Another name of `normalize`.
            convert_to_numpy: Return an array; if false and `convert_to_tensor` too, a list of tensors.
            convert_to_tensor: Return a tensor.
            precision: `float32`, `int8`, `uint8`, `binary` or `ubinary`.
            truncate_dim: How many components to keep before normalising.
            prompt: What to put before each text.
            prompt_name: The name of one of `prompts` to put before each text.
            device: Where to move the encoder first.

        Returns:
            float32 (texts, dim) in the order of the texts, or (dim,) for a single text; with other options what
            sentence-transformers gives with them.
        """
        check_precision(precision)
        if truncate_dim is not None:
            _check_truncation(self.dimension, truncate_dim)
        if device is not None:
            self.to(device)
        prompt = self._prompt(prompt, prompt_name)
        tokenize, blocks = self._tokens.in_blocks(self.backend, self._tokens.prepared(texts, prompt))
        normalize = normalize or normalize_embeddings
        vectors: NDArray[Any] = self._embedded(
            tokenize, blocks, prompt, batch_size, normalize, truncate_dim, bool(show_progress_bar)
        )
        if precision != "float32":
            vectors = quantize_embeddings(vectors, precision)
        if convert_to_numpy and not convert_to_tensor:
            return vectors[0] if isinstance(texts, str) else vectors
        import torch

        tensor = torch.from_numpy(vectors).to(self.device)
        if isinstance(texts, str):
            return tensor[0]
        return tensor if convert_to_tensor else list(tensor)

    def encode_query(self, texts: Texts, **options: Any) -> Any:
        """Embeds queries as :meth:`encode` does, with the prompt `query` before them if there is one."""
        return self.for_task("query").encode(texts, **options)

    def encode_document(self, texts: Texts, **options: Any) -> Any:
        """Embeds texts to be found, with the prompt `document`, `passage` or `corpus` if there is one."""
        return self.for_task("document").encode(texts, **options)

    @property
    def prompt_options(self) -> dict[str, Any]:
        """What a saved folder says of prompts, for sentence-transformers and for us."""
        return {"prompts": self.prompts, "default_prompt_name": self.default_prompt_name}

    def for_task(self, task: Literal["query", "document"]) -> SentenceEncoder:
        """Returns the encoder whose default prompt is that of a task; itself if there is none."""
        names = (task,) if task == "query" else (task, "passage", "corpus")
        prompt_name = next((name for name in names if name in self.prompts), self.default_prompt_name)
        has_modules = hasattr(self._model, "task")
        if prompt_name == self.default_prompt_name and not has_modules:
            return self
        made = copy.copy(self)
        made.default_prompt_name = prompt_name
        if has_modules:
            # A router of sentence-transformers has some for each.
            made._model = copy.copy(self._model)
            made._model.task = task
        return made

    def encode_token_ids(
        self, ids: TokenIds, *, batch_size: int = 256, normalize: bool = False
    ) -> NDArray[np.float32]:
        """Embeds texts as :meth:`encode` does, float32 (texts, dim), from what :meth:`token_ids` gave for them."""
        texts = len(ids.offsets) - 1
        blocks = [slice(first, min(first + _ROWS_PER_BLOCK, texts)) for first in range(0, texts or 1, _ROWS_PER_BLOCK)]
        prompt = self._prompt(None, None)
        return self._embedded(lambda rows: ids.part(rows.start, rows.stop), blocks, prompt, batch_size, normalize)

    def forward_options(self, prompt: str | None = None) -> dict[str, Any]:
        """Returns what the model is told beside tokens that begin with a prompt, by default the default one."""
        prompt, forward = self._prompt(prompt, None), getattr(self.model, "forward", self.model)
        # Sentence embeddings are all that is wanted.
        has_choice = "return_token_vectors" in inspect.signature(forward).parameters
        options: dict[str, Any] = {"return_token_vectors": False} if has_choice else {}
        if prompt and not getattr(self.model, "include_prompt", True):
            whole = TokenIds.joined(self._tokens.blocks(self.backend, [prompt]))
            options["unpooled"] = int(whole.lengths[0]) - self.reading.last_special
        return options

    def _prompt(self, prompt: str | None, name: str | None) -> str:
        if prompt is not None:
            return prompt
        name = self.default_prompt_name if name is None else name
        if name is None:
            return ""
        if name not in self.prompts:
            remedy = choice_of(name, list(self.prompts)) if self.prompts else "give the text itself: prompt=…"
            raise UsageError(f"prompt_name `{name}` is unknown", remedy=remedy)
        return self.prompts[name]

    def _embedded(
        self,
        tokenize: Callable[[slice], TokenIds],
        blocks: list[slice],
        prompt: str,
        batch_size: int,
        normalize: bool,
        truncate_dim: int | None = None,
        show_progress_bar: bool = False,
    ) -> NDArray[np.float32]:
        """Embeds the texts of all blocks, as float32 (texts, dim)."""
        check_counts(batch_size=batch_size)
        vectors = np.zeros((blocks[-1].stop, truncate_dim or self.dimension), np.float32)
        normalizes_whole = self.reading.normalizes and not self.reading.cuts_first
        normalize = normalize or (self.reading.normalizes and self.reading.cuts_first)

        def finish(whole: NDArray[np.float32]) -> NDArray[np.float32]:
            part = (unit_rows(whole) if normalizes_whole else whole)[:, : vectors.shape[1]]
            return unit_rows(part) if normalize else part

        if self._model is None and self._averages is None:
            size = self._whole_dimension if normalizes_whole else self.dimension
            self._averages = cast(StaticTable, self._table).averages(size)
        averages = self._averages if self._model is None else averages_of_model(self._model)
        with evaluation_mode(self._model):
            if averages is not None:
                steps = embed_averages(averages, tokenize, blocks, vectors, finish)
            else:
                model, wanted = self.model, self.forward_options(prompt)
                steps = embed_in_padded_batches(
                    lambda ids, mask: model(ids, attention_mask=mask, **wanted).pooler_output,
                    TokenIds.joined(in_threads(tokenize, blocks, available_threads())),
                    vectors,
                    batch_size=batch_size,
                    pad_token_id=self.tokenizer.pad_token_id,
                    device=model.device,
                    finish=finish,
                    is_transformer=hasattr(model, "transformer"),
                )
            if show_progress_bar:
                steps = with_progress_bar(steps, len(vectors))
            for _ in steps:
                pass
        if (cut := self._tokens.truncated) and not self._tokens.is_logged:
            self._tokens.is_logged, most = True, self.reading.most_tokens
            _LOGGER.warning("%d texts have more than %d tokens and are truncated", cut, most)
        return vectors

    def similarity(self, first: Comparable, second: Comparable, **options: Any) -> NDArray[np.float32]:
        """Computes the cosine of every text of `first` with every text of `second`, float32 (first, second).

        Each side is one text or several, or embeddings: an array of floats (texts, dim), or (dim,) for one. The cosine
        with a text without tokens, or a zero vector, is 0. `options` are passed to `encode`.
        """
        rows, columns = (self._unit_vectors(side, options) for side in (first, second))
        if rows.shape[1] != columns.shape[1]:
            size, other = rows.shape[1], columns.shape[1]
            raise ValueError(f"vectors of {size} components cannot be compared with vectors of {other}")
        return rows @ columns.T

    def similarity_pairwise(self, first: Comparable, second: Comparable, **options: Any) -> NDArray[np.float32]:
        """Computes the cosine of each text of `first` with the text of `second` at its place, float32 (texts,).

        Both may be embeddings, as for :meth:`similarity`.
        """
        rows, others = (self._unit_vectors(side, options) for side in (first, second))
        if rows.shape != others.shape:
            raise ValueError(f"embeddings {rows.shape} cannot be compared one by one with embeddings {others.shape}")
        return np.einsum("ij,ij->i", rows, others)

    def _unit_vectors(self, side: Any, options: dict[str, Any]) -> NDArray[np.float32]:
        """Returns the unit vectors (texts, dim) of texts, or of embeddings that were made before."""
        if not isinstance(side, str) and hasattr(side, "__array__") and not hasattr(side, "columns"):
            # A tensor of PyTorch: NumPy knows neither bfloat16 nor gradients.
            array = side.detach().float().cpu().numpy() if hasattr(side, "detach") else np.asarray(side)
            if array.dtype.kind == "f":
                if array.ndim not in (1, 2):
                    raise ValueError(f"embeddings must have the shape (texts, dim) or (dim,), not {array.shape}")
                check_finite("embeddings", np.atleast_2d(array))
                return unit_rows(np.atleast_2d(array).astype(np.float32, copy=False))
        texts = [side] if isinstance(side, str) else side
        vectors: NDArray[np.float32] = self.encode(texts, **{**options, "normalize": True})
        return vectors

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embeds texts to be found as lists of numbers, as LangChain asks for them."""
        vectors: list[list[float]] = self.encode_document(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Embeds a query as a list of numbers, as LangChain asks for it."""
        vector: list[float] = self.encode_query(text).tolist()
        return vector

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embeds as :meth:`embed_documents` does, in another thread."""
        import asyncio

        return await asyncio.to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Embeds as :meth:`embed_query` does, in another thread."""
        import asyncio

        return await asyncio.to_thread(self.embed_query, text)

    def fit(self, texts: Any = None, y: Any = None) -> Self:
        """Does nothing: as a step of a pipeline of scikit-learn an encoder is trained already."""
        return self

    def transform(self, texts: Texts, y: Any = None) -> NDArray[np.float32]:
        """Embeds texts, as a pipeline of scikit-learn asks for it."""
        vectors: NDArray[np.float32] = self.encode(texts)
        return vectors

    fit_transform = transform

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Returns what scikit-learn may change: `truncate_dim`."""
        return {"truncate_dim": self.truncate_dim}

    def set_params(self, **params: Any) -> Self:
        """Changes what scikit-learn may change: `truncate_dim`."""
        for name, value in params.items():
            if name != "truncate_dim":
                raise ValueError(f"an encoder has no parameter {name}, only truncate_dim")
            self.truncate_dim = value
        return self

    def __sklearn_clone__(self) -> SentenceEncoder:
        return copy.copy(self)

    def save_pretrained(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Writes an ordinary model folder, which `AutoModel` and sentence-transformers open too, in float32.

        It appears whole or not at all. The licence and the base model that the card of its folder names are on the new
        card too.
        """
        from .model_folder import save_copy

        return save_copy(folder, self, overwrite=overwrite)

    def push_to_hub(
        self,
        repo_id: str,
        *,
        token: str | None = None,
        private: bool | None = None,
        commit_message: str | None = None,
        revision: str | None = None,
        dry_run: bool = False,
    ) -> str:
        """Sends the encoder, as `save_pretrained` writes it, to a repository of the Hub, which is made if missing.

        `private` refuses a repository that exists and is public; a `dry_run` writes and checks the folder, and sends
        nothing. Returned is the URL of the repository, of a dry run its name.
        """
        from ..hub.publishing import check_licence, plan_push, send

        with tempfile.TemporaryDirectory() as place:
            folder = self.save_pretrained(Path(place) / (repo_id.rpartition("/")[2] or "encoder"))
            plan = plan_push(folder, repo_id, repo_type="model", revision=revision)
            check_licence(plan)
            if dry_run:
                log(f"{len(plan.files)} files for {repo_id}; nothing was sent")
                return repo_id
            pushed = send(plan, token=token, private=bool(private), commit_message=commit_message)
        return pushed.url


def _check_truncation(dimension: int, truncate_dim: int) -> None:
    check_counts(truncate_dim=truncate_dim)
    if truncate_dim > dimension:
        what = f"embeddings of {dimension} components cannot be truncated to {truncate_dim}"
        raise UsageError(what, remedy=f"keep 1 to {dimension} of them")
