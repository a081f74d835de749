"""Finds the models below some folders by their settings, and opens them once for all users of the page."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Condition, Lock
from typing import Any

from ..artefacts.files import read_json_object
from ..artefacts.hub_models import BUILTIN, model_folder
from ..encoders.kinds import own_classes
from ..encoders.sentence_encoder import SentenceEncoder
from ..encoders.static_tables import MODEL2VEC
from ..errors import HfParaphraseError, UsageError
from ..models.registry import MODELS, SENTENCE_ENCODERS

_SETTINGS, _MODULES = "config.json", "modules.json"
_OTHER = "sentence-transformers"
"""The type of what `modules.json` describes."""
_DEEPEST = 6
_MOST_OPEN = 6
"""Models that stay open; the one that was not used for longest goes first."""
TRANSLATION = "translation"
"""What all sequence-to-sequence models count as."""
_TRANSLATORS = ("ForConditionalGeneration", "MTModel")
"""How the names of their classes end."""


@dataclass(frozen=True)
class FoundModel:
    """A model that was found.

    Attributes:
        place: Its folder, `builtin`, or a repository of the Hub.
        model_type: As its `config.json` says; `translation` for a sequence-to-sequence model.
    """

    name: str
    place: str
    model_type: str

    @property
    def translates(self) -> bool:
        """Whether it is a translation model; a sentence encoder else."""
        return self.model_type == TRANSLATION


class ModelCatalogue:
    """The models that a page offers, opened when they are first used.

    One user at a time works with a model: tokenizers must not be called from two threads at once.

    The encoder that is built in is always among them, the last one if it is not named: to compare with, and for those
    who have trained none yet.
    """

    def __init__(
        self, places: Iterable[str], *, device: str | None = None, languages: Mapping[str, str | None] | None = None
    ) -> None:
        self._device = device
        self._languages = dict(languages or {})
        self.models: dict[str, FoundModel] = {}
        for place in dict.fromkeys([*places, BUILTIN]):
            for model in _models_of(place):
                name = model.name if model.name not in self.models else model.place
                self.models[name] = FoundModel(name, model.place, model.model_type)
        self._open: dict[str, tuple[Any, Lock]] = {}
        self._lock = Lock()
        self._work = Condition()
        self._workers, self._closed = 0, False

    def close(self, timeout: float = 10.0) -> None:
        """Lets no more work begin, and waits for what is under way: a process must not end below it.

        Args:
            timeout: Seconds to wait at most.
        """
        with self._work:
            self._closed = True
            self._work.wait_for(lambda: not self._workers, timeout)

    @contextmanager
    def work(self) -> Iterator[None]:
        """Counts the block as work that is under way."""
        with self._work:
            self.check_open()
            self._workers += 1
        try:
            yield
        finally:
            with self._work:
                self._workers -= 1
                self._work.notify_all()

    def check_open(self) -> None:
        """Ends long work once the page is closed."""
        if self._closed:
            raise UsageError("the page is closed", remedy="open it again")

    @property
    def encoders(self) -> list[str]:
        """The names of the sentence encoders."""
        return [name for name, found in self.models.items() if not found.translates]

    @property
    def translators(self) -> list[str]:
        """The names of the translation models."""
        return [name for name, found in self.models.items() if found.translates]

    def new_encoder(self, name: str) -> SentenceEncoder:
        """Opens a new instance of an encoder, for one user alone."""
        return SentenceEncoder.from_pretrained(self._found(name, self.encoders).place, device=self._device)

    @contextmanager
    def encoder(self, name: str) -> Iterator[SentenceEncoder]:
        """Yields an encoder for use; others wait until the block ends."""
        with self._opened(name, self.encoders) as model:
            yield model

    @contextmanager
    def translator(self, name: str) -> Iterator[tuple[Any, Any]]:
        """Yields a translation model and its tokenizer; others wait until the block ends."""
        with self._opened(name, self.translators) as model:
            yield model

    @contextmanager
    def _opened(self, name: str, names: list[str]) -> Iterator[Any]:
        found_model = self._found(name, names)
        with self.work(), self._lock:
            entry = self._open.pop(name, None)
            if entry is None:
                entry = (self._load(found_model), Lock())
                while len(self._open) >= _MOST_OPEN:
                    del self._open[next(iter(self._open))]
            self._open[name] = entry
        model, lock = entry
        with self.work(), lock:
            yield model

    def _load(self, found: FoundModel) -> Any:
        if found.translates:
            # The page is there sooner without PyTorch.
            from ..translation.loading import load_translation_model

            model, tokenizer = load_translation_model(found.place, device=self._device, **self._languages)
            return model.eval(), tokenizer
        return SentenceEncoder.from_pretrained(found.place, device=self._device)

    def _found(self, name: str | None, names: list[str]) -> FoundModel:
        if name not in names:
            raise UsageError("no model is chosen" if not name else f"there is no model `{name}`", remedy="choose one")
        return self.models[name]


def _models_of(place: str) -> Iterator[FoundModel]:
    """Yields the models that a place holds, in the order of their names."""
    folder = model_folder(place)
    if not folder.is_dir():
        raise UsageError("no such folder", path=place, remedy="--models takes folders that hold models")
    if _is_model(folder):
        name = place if str(folder) != place else folder.resolve().name
        yield FoundModel(name, place, _type_of(folder) or _OTHER)
        return
    model_types = {*SENTENCE_ENCODERS, TRANSLATION, MODEL2VEC, _OTHER}
    model_types |= {kind.config_class.model_type for kind in own_classes().values()}
    empty = True
    for path in _model_folders(folder):
        try:
            model_type = _type_of(path)
        except HfParaphraseError:
            continue  # some other program's, or damaged: it has no type to offer it by
        if model_type in model_types:
            empty = False
            yield FoundModel(path.relative_to(folder).as_posix(), str(path), model_type)
    if empty:
        raise UsageError(
            "no sentence encoder or translation model in this folder",
            path=place,
            remedy="give one that train-encoder, distill, train-nmt or quickstart made",
        )


def _model_folders(folder: Path) -> Iterator[Path]:
    """Yields the folders of models below a folder; nothing below one, and not what is hidden or a checkpoint."""
    for place, folders, _ in os.walk(folder):
        path = Path(place)
        found = _is_model(path)
        if found:
            yield path
        deep = found or len(path.relative_to(folder).parts) >= _DEEPEST
        kept = [name for name in sorted(folders) if not name.startswith((".", "checkpoint-"))]
        folders[:] = [] if deep else kept


def _is_model(folder: Path) -> bool:
    return any((folder / name).is_file() for name in (_SETTINGS, _MODULES))


def _type_of(folder: Path) -> str | None:
    """Reads the type of a model from its `config.json`; what only `modules.json` describes has a type of its own."""
    settings = read_json_object(folder / _SETTINGS) if (folder / _SETTINGS).is_file() else {}
    model_type = settings.get("model_type")
    architectures = [str(name) for name in settings.get("architectures") or []]
    if model_type == "rnn_search" or (
        settings.get("is_encoder_decoder") and any(name.endswith(_TRANSLATORS) for name in architectures)
    ):
        return TRANSLATION
    if (folder / _MODULES).is_file() and model_type not in MODELS:
        return _OTHER
    return None if model_type is None else str(model_type)
