"""What `quality_speed.py` compares: our encoders, and every peer that is installed or given."""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch

from hf_paraphrase.encoders.distillation.word_vectors import DISTILLED_DIMENSION
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import ModelError
from hf_paraphrase.evaluation.baselines import UNTRAINED_BASELINES, Encode, Scorer, Similarity
from hf_paraphrase.evaluation.english_trigrams import english_trigram_frequencies
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer
from hf_paraphrase.training.devices import bf16_is_fast
from hf_paraphrase.training.word_vectors import read_word_vectors

Way = Callable[[list[str]], Any]
"""Takes sentences and does with them what is timed."""
_WORDLLAMA = "l2_supercat"
_LARGER_BATCH = 256


@dataclass(frozen=True)
class Compared:
    """An encoder or a baseline.

    Attributes:
        name: What the table and the picture call it.
        ours: Whether it is an encoder of this package.
        ways: Settings in which it is timed, by what they are called; the fastest counts.
        size: Of what is on the disk, in bytes.
        dimension: Components of a vector; None where there is no dense one.
        similarity: Compares pairs where that is not the cosine of the vectors.
    """

    name: str
    ours: bool
    encode: Encode
    ways: Mapping[str, Way] = field(repr=False)
    size: int
    dimension: int | None
    similarity: Similarity | None = None

    def scorer(self) -> Scorer:
        """Returns what an evaluation takes."""
        return Scorer(self.name, "model", self.encode, self.similarity)


Note = Callable[[str], None]
"""Is told what is left out."""
Named = Sequence[tuple[str, str]]
"""Names and the places of what they name."""


def compared_encoders(
    models: Named, teachers: Named, distilled: Named, glove: Named, *, folder: Path, note: Note
) -> list[Compared]:
    """Opens everything, ours first."""
    found = [our_encoder(name, place) for name, place in models]
    for number, (name, place) in enumerate(teachers):
        found += teacher_and_forms(name, place, note)
        found += model2vec_distillation(name, place, folder / f"model2vec-{number}", note)
    for name, place in distilled:
        found += model2vec_folder(name, Path(place), note)
    found += wordllama(note)
    for number, (name, place) in enumerate(glove):
        found.append(word_averages(name, Path(place), folder / f"vectors-{number}"))
    return [*found, weighted_trigrams()]


def our_encoder(name: str, place: str, *, ours: bool = True) -> Compared:
    """Opens a folder as users do."""
    encoder = SentenceEncoder.from_pretrained(place)
    assert encoder.folder is not None
    return Compared(name, ours, encoder.encode, {"": encoder.encode}, bytes_below(encoder.folder), encoder.dimension)


def teacher_and_forms(name: str, place: str, note: Note) -> Iterator[Compared]:
    """Opens a teacher in float32, and in bfloat16 where this processor multiplies in it."""
    transformers = _installed("sentence_transformers", note)
    for label, dtype in (("", torch.float32), (" in bf16", torch.bfloat16)):
        bf16 = dtype == torch.bfloat16
        if bf16 and not bf16_is_fast():
            note(f"{name}{label} is left out: this processor has no instructions for it")
            continue
        own = SentenceEncoder.from_pretrained(place, dtype=dtype)  # first, because it checks the folder
        ways: dict[str, Way] = {"this package's batches": own.encode}
        if transformers is not None:
            options = {"model_kwargs": {"dtype": dtype}, "local_files_only": True, "device": "cpu"}
            encode = transformers.SentenceTransformer(str(place), **options).encode
            encode = partial(encode, show_progress_bar=False)
            larger = partial(encode, batch_size=_LARGER_BATCH)
            ways |= {"sentence-transformers": encode, f"sentence-transformers, batch {_LARGER_BATCH}": larger}
        yield Compared(f"{name}{label}", False, own.encode, ways, bytes_below(Path(place)), own.dimension)


def model2vec_distillation(name: str, place: str, folder: Path, note: Note) -> Iterator[Compared]:
    """Distils a teacher with model2vec, by its defaults, and opens what it saved."""
    distillation = _installed("model2vec.distill", note)
    if distillation is None:
        return
    distillation.distill(str(place), pca_dims=DISTILLED_DIMENSION, device="cpu").save_pretrained(str(folder))
    yield from model2vec_folder(f"model2vec of {name}", folder, note)


def model2vec_folder(name: str, folder: Path, note: Note) -> Iterator[Compared]:
    """Opens a folder that model2vec wrote, as its users do."""
    model2vec = _installed("model2vec", note)
    if model2vec is None:
        return
    if not folder.is_dir():
        raise ModelError("no such model folder", path=folder, remedy="check --model2vec")
    model = model2vec.StaticModel.from_pretrained(str(folder))
    ways = {"": model.encode, "one batch at a time": partial(model.encode, use_multiprocessing=False)}
    yield Compared(name, False, model.encode, ways, bytes_below(folder), int(model.dim))


def wordllama(note: Note) -> Iterator[Compared]:
    """Opens the table that is in the package `wordllama`."""
    package = _installed("wordllama", note)
    if package is None:
        return
    # It looks for the tokenizer in a folder `tokenizer` of the package, and then in `tokenizers` of its cache; the
    # package has `tokenizers`, so the package is named as the cache.
    root = Path(package.__file__).parent
    try:
        model = package.WordLlama.load(_WORDLLAMA, cache_dir=root, disable_download=True)
    except FileNotFoundError as error:
        note(f"wordllama is left out: {error}")
        return
    files = [path for part in ("weights", "tokenizers") for path in root.glob(f"{part}/{_WORDLLAMA}*")]
    dimension = int(model.embedding.shape[1])
    ways = {"": model.embed, f"batch {_LARGER_BATCH}": partial(model.embed, batch_size=_LARGER_BATCH)}
    yield Compared(f"WordLlama {dimension}", False, model.embed, ways, sum(map(_size, files)), dimension)


def word_averages(name: str, path: Path, folder: Path) -> Compared:
    """Writes a file of word vectors as an Avg folder and opens it; words without a vector add nothing to the mean."""
    vectors = read_word_vectors(path)
    tokenizer = build_word_level_tokenizer(vectors.words)
    model = AvgModel(AvgConfig(vocab_size=len(tokenizer), hidden_size=vectors.matrix.shape[1]))
    with torch.no_grad():
        model.embeddings.zero_()
        for word, row in tokenizer.get_vocab().items():
            if word in vectors.index:
                model.embeddings[row] = torch.from_numpy(vectors.matrix[vectors.index[word]])
    model.save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    return our_encoder(name, str(folder), ours=False)


def weighted_trigrams() -> Compared:
    """Returns the baseline that needs no training: cosines of weighted counts of trigrams, compared pair by pair."""
    baseline = UNTRAINED_BASELINES["weighted-trigrams"]
    similarity = baseline.similarity
    assert similarity is not None
    size = _size(Path(inspect.getfile(english_trigram_frequencies)))
    ways = {"compared in pairs": lambda texts: similarity(texts[::2], texts[1::2])}
    return Compared("weighted trigrams, untrained", False, baseline.encode, ways, size, None, similarity)


def bytes_below(folder: Path) -> int:
    """Adds up the files of a folder."""
    return sum(_size(path) for path in folder.rglob("*") if path.is_file())


def _size(path: Path) -> int:
    return path.stat().st_size


def _installed(name: str, note: Note) -> Any:
    """Imports a module, or tells that it is left out and gives None."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        note(f"{name.partition('.')[0]} is left out: {error}")
        return None


def let_tokenizers_use_threads() -> None:
    """Undoes what model2vec does to the whole process."""
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
