"""Finds the models below some folders by their settings, and opens them once for all users of the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.files import read_json_object
from ..artefacts.hub_models import model_folder
from ..encoders.architectures import own_classes
from ..encoders.backends.static_table import MODEL2VEC
from ..encoders.sentence_encoder import SentenceEncoder
from ..errors import HfParaphraseError, UsageError
from ..models.registry import MODELS, SENTENCE_ENCODERS
from ..registry import BUILTINS

if TYPE_CHECKING:
    from ..paraphrasing.paraphraser import Paraphraser

_SETTINGS, _MODULES = "config.json", "modules.json"
_TRANSLATORS = ("ForConditionalGeneration", "MTModel")
"""How the names of the classes of sequence-to-sequence models end."""
KNOWN_LANGUAGES = "builtin knows English, multilingual thirteen languages"
MOST_PARAPHRASES = 10
"""Paraphrases of a sentence, at most."""


@dataclass(frozen=True)
class FoundModel:
    """A model by its folder, `builtin` or repository: an encoder, or one that translates between these languages."""

    name: str
    place: str
    translates: bool
    languages: tuple[str | None, str | None]


class ModelCatalogue:
    """The models that a page offers, opened when they are first used; the built-in encoders are always the first."""

    def __init__(
        self, places: Iterable[str], *, device: str | None = None, languages: Mapping[str, str | None] | None = None
    ) -> None:
        self._device = device
        self.languages = dict(languages or {})
        self.models: dict[str, FoundModel] = {}
        for place in dict.fromkeys([*BUILTINS, *places]):
            for model in _models_of(place):
                self.models[model.name if model.name not in self.models else model.place] = model
        self.encoders = [name for name, model in self.models.items() if not model.translates]
        self.translators = [name for name, model in self.models.items() if model.translates]
        self.encoder = cache(self._open_encoder)
        self.translator = cache(self._open_translator)
        self.paraphraser = cache(self._open_paraphraser)

    def place_of(self, name: str | None, names: list[str]) -> str:
        """Returns the folder or repository of a model, which must be among `names`."""
        if name is None or name not in names:
            raise UsageError("no model is chosen" if not name else f"there is no model `{name}`", remedy="choose one")
        return self.models[name].place

    def _open_encoder(self, name: str) -> SentenceEncoder:
        return SentenceEncoder.from_pretrained(self.place_of(name, self.encoders), device=self._device)

    def _open_translator(self, name: str) -> tuple[Any, Any]:
        """Opens a translation model and its tokenizer."""
        # The page opens sooner without PyTorch.
        from ..translation.loading import load_translation_model

        place = self.place_of(name, self.translators)
        model, tokenizer = load_translation_model(place, device=self._device, **self.languages)
        return model.eval(), tokenizer

    def _open_paraphraser(self, forward: str, backward: str) -> Paraphraser:
        """Opens a model and one that translates back, or one model of several languages."""
        from ..paraphrasing.paraphraser import Paraphraser

        places = tuple(dict.fromkeys(self.place_of(name, self.translators) for name in (forward, backward)))
        source, target = self.languages.get("source_lang"), self.languages.get("target_lang")
        pivots = () if target is None else (target,)
        return Paraphraser(places, num=MOST_PARAPHRASES, language=source, pivots=pivots, device=self._device)


def _models_of(place: str) -> Iterator[FoundModel]:
    """Yields the models in a folder, in the order of their names, or the one that the place is."""
    folder = model_folder(place)
    if not folder.is_dir():
        raise UsageError("no such folder", path=place, remedy="--models takes folders that hold models")
    if any((folder / name).is_file() for name in (_SETTINGS, _MODULES)):
        name = place if str(folder) != place else folder.resolve().name
        yield _found(name, place, folder)
        return
    empty = True
    for path in _model_folders(folder):
        try:
            found = _found(path.relative_to(folder).as_posix(), str(path), path)
        except HfParaphraseError:
            continue  # damaged
        if found.translates or _is_encoder(path):
            empty = False
            yield found
    if empty:
        raise UsageError(
            "no sentence encoder or translation model in this folder",
            path=place,
            remedy="give one that train-encoder, distill, train-nmt or quickstart made",
        )


def _model_folders(folder: Path) -> Iterator[Path]:
    """Yields the folders of models below a folder, without hidden ones, checkpoints and models inside models."""
    found = {path.parent for name in (_SETTINGS, _MODULES) for path in folder.rglob(name)}
    for path in sorted(found):
        inner = any(part.startswith((".", "checkpoint-")) for part in path.relative_to(folder).parts)
        if not inner and found.isdisjoint(path.parents):
            yield path


def _settings(folder: Path, name: str = _SETTINGS) -> dict[str, Any]:
    return read_json_object(folder / name) if (folder / name).is_file() else {}


def _found(name: str, place: str, folder: Path) -> FoundModel:
    """Reads from the settings of a model what it is."""
    settings = _settings(folder)
    classes = [str(name) for name in settings.get("architectures") or []]
    translates = bool(settings.get("is_encoder_decoder")) and any(name.endswith(_TRANSLATORS) for name in classes)
    tokenizer = _settings(folder, "tokenizer_config.json") if translates else {}
    source, target = (settings.get(key) or tokenizer.get(key) for key in ("source_lang", "target_lang"))
    return FoundModel(name, place, translates, (source, target))


def _is_encoder(folder: Path) -> bool:
    model_type = _settings(folder).get("model_type")
    if (folder / _MODULES).is_file() and model_type not in MODELS:
        return True
    own = {kind.config_class.model_type for kind in own_classes().values()}
    return model_type in {*SENTENCE_ENCODERS, MODEL2VEC, *own}
