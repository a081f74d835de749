"""Where initial word vectors come from: a text file, a saved model, or a sentence encoder to distil."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..artefacts.files import read_json_object
from ..artefacts.hub_models import fetched_folder
from ..data.text_files import numbered_lines
from ..errors import InputError, ModelError, UsageError
from ..models.joined_tokenizers import PARTS_FILE
from ..models.registry import MODELS, SENTENCE_ENCODERS
from ..training.word_vectors import Coverage, WordVectors, is_header, read_word_vectors
from .distillation.teacher import Teacher
from .distillation.word_vectors import DISTILLED_DIMENSION, distill_word_vectors
from .saved_vectors import read_joined_vectors, read_saved_vectors, vector_table

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

FILE, SAVED_MODEL, SIDE_BY_SIDE, SENTENCE_ENCODER = (
    "word vectors",
    "saved model",
    "tables side by side",
    "distilled from the sentence encoder",
)
_REMEDY = "give a file of word vectors, or the folder of a sentence encoder"


def kind_of_source(source: str | os.PathLike[str]) -> str:
    """Returns what kind of initial vectors a path, or `builtin`, holds.

    A file, a model with a table of vectors, one with several side by side, or another model.
    """
    path = fetched_folder(source) or Path(source)
    if path.is_dir():
        if (path / PARTS_FILE).is_file():
            return SIDE_BY_SIDE
        if vector_table(path) is not None:
            return SAVED_MODEL
        _check_encoder(path)
        return SENTENCE_ENCODER
    if not path.exists():
        raise InputError("no such file or folder", path=path, remedy=_REMEDY)
    return FILE


def _check_encoder(folder: Path) -> None:
    """Refuses a folder that holds no sentence encoder, before transformers would do so at length."""
    if not any((folder / name).exists() for name in ("config.json", "modules.json")):
        raise ModelError("not a model folder: it has no config.json", path=folder, remedy=_REMEDY)
    if (folder / "config.json").is_file():
        model_type = read_json_object(folder / "config.json", ModelError).get("model_type")
        if model_type in MODELS and model_type not in SENTENCE_ENCODERS:
            raise ModelError(f"a model of type `{model_type}` has no vectors of words", path=folder, remedy=_REMEDY)


def read_initial_vectors(
    source: str | os.PathLike[str],
    words: Sequence[str],
    *,
    first: int | None = None,
    dimension: int | None = None,
    pieces: Sequence[str] | None = None,
    device: str | None = None,
    show_progress_bar: bool = False,
) -> WordVectors:
    """Reads or makes vectors for words.

    Args:
        source: A file in the text layout of GloVe or word2vec; the folder of a model with a table of word vectors
            (ours, model2vec, sentence-transformers' `StaticEmbedding`), or with several side by side, as the built-in
            encoder `builtin` has them; or that of any other sentence encoder, which is then distilled.
        words: The wanted words, each once; the words to distil.
        first: Keep the first N words of the source too. A sentence encoder has none.
        dimension: The number of components wanted; for a sentence encoder, how many to keep (256 if None).
        pieces: As for :func:`~hf_paraphrase.encoders.saved_vectors.read_saved_vectors`.
        device: Where a sentence encoder computes; None for the CPU.
        show_progress_bar: Show the progress of a sentence encoder on standard error.
    """
    kind, path = kind_of_source(source), fetched_folder(source) or Path(source)
    if kind == SENTENCE_ENCODER:
        teacher = Teacher.from_pretrained(path, device=device)
        vectors = distill_word_vectors(
            teacher, words, dimension=dimension or DISTILLED_DIMENSION, show_progress_bar=show_progress_bar
        )
        vectors.source = Path(source)
        return vectors
    if kind == SIDE_BY_SIDE:
        vectors = read_joined_vectors(path, words)
    elif kind == SAVED_MODEL:
        vectors = read_saved_vectors(path, set(words), first=first or 0, pieces=pieces)
    else:
        vectors = read_word_vectors(path, set(words), first=first)
    size = vectors.matrix.shape[1]
    if dimension not in (None, size):
        raise UsageError(
            f"--hidden-size {dimension}, but the initial vectors have {size} components",
            path=source,
            remedy="leave --hidden-size out",
        )
    return vectors


def read_word_list(path: str | os.PathLike[str]) -> list[str]:
    """Reads words from a file, one a line, or the words of a file of word vectors or counts: what stands first.

    Returns:
        The words in the order of the file, each once.
    """
    path = Path(path)
    words: dict[str, None] = {}
    for number, line in numbered_lines(path):
        # As in files of vectors, in which a word may have a no-break space or U+0085 in it.
        fields = [field for field in line.replace("\t", " ").split(" ") if field]
        if fields and fields[0].strip() and not (number == 1 and is_header(fields)):
            words.setdefault(fields[0])
    if not words:
        raise InputError("the file has no words", path=path, remedy="give a file with a word a line")
    return list(words)


def check_coverage(coverage: Coverage, source: str | os.PathLike[str]) -> None:
    """Refuses initial vectors that have nothing to do with the pairs."""
    if coverage.tokens and not coverage.tokens_with_vector:
        raise InputError(
            "no word of the pairs has a vector here",
            path=source,
            remedy="give vectors in the language of the pairs, and written as they are (lower case?)",
        )


def words_of_tokens(tokenizer: PreTrainedTokenizerFast) -> list[str | None]:
    """Returns which word each token of a vocabulary stands for.

    Tokens of a word-level tokenizer are words. A sub-word token stands for the word that it spells if the tokenizer
    turns this word into that token alone; one from inside a word (`##ing`) stands for none.

    Returns:
        The words by id, None for none (vocabulary,).
    """
    backend = tokenizer.backend_tokenizer
    tokens: list[str] = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    if json.loads(backend.to_str())["model"]["type"] == "WordLevel":
        return list(tokens)
    backend.no_padding()
    backend.no_truncation()
    texts = [backend.decode([token], skip_special_tokens=False).strip() for token in range(len(tokens))]
    encoded = backend.encode_batch_fast(texts, add_special_tokens=False)
    return [text if item.ids == [row] else None for row, (text, item) in enumerate(zip(texts, encoded, strict=True))]
