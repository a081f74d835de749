"""Finds the models in folders and opens each once for all users of the demo."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.files import read_optional_json
from ..artefacts.hub_models import model_folder
from ..encoders.architectures import list_own_classes
from ..encoders.backends.static_table import MODEL2VEC
from ..encoders.sentence_encoder import SentenceEncoder
from ..errors import HfParaphraseError, UsageError
from ..models.registry import MODELS, SENTENCE_ENCODERS
from ..registry import BUILTINS

if TYPE_CHECKING:
    from ..paraphrasing.paraphraser import Paraphraser

_SETTINGS, _MODULES = "config.json", "modules.json"
_TRANSLATORS = ("ForConditionalGeneration", "MTModel")
"""Endings of the class names of sequence-to-sequence models."""
KNOWN_LANGUAGES = "builtin knows English, multilingual nineteen languages"
MOST_PARAPHRASES = 10
"""Maximum number of paraphrases of a sentence."""


@dataclass(frozen=True)
class CatalogueModel:
    """An encoder or translation model; `location` is its folder, its repository or `builtin`."""

    name: str
    location: str
    translates: bool
    languages: tuple[str | None, str | None]


class ModelCatalogue:
    """The models of a demo, the built-in encoders first; each is opened at its first use."""

    def __init__(
        self, locations: Iterable[str], *, device: str | None = None, languages: Mapping[str, str | None] | None = None
    ) -> None:
        self._device = device
        self.languages = dict(languages or {})
        self.models: dict[str, CatalogueModel] = {}
        for location in dict.fromkeys([*BUILTINS, *locations]):
            for model in _find_models(location):
                self.models[model.name if model.name not in self.models else model.location] = model
        self.encoders = [name for name, model in self.models.items() if not model.translates]
        self.translators = [name for name, model in self.models.items() if model.translates]
        self.encoder = cache(self._open_encoder)
        self.translator = cache(self._open_translator)
        self.paraphraser = cache(self._open_paraphraser)

    def find_location(self, name: str | None, names: list[str]) -> str:
        """Return the folder or repository of a model among `names`."""
        if name is None or name not in names:
            raise UsageError("no model is chosen" if not name else f"there is no model `{name}`", remedy="choose one")
        return self.models[name].location

    def _open_encoder(self, name: str) -> SentenceEncoder:
        return SentenceEncoder.from_pretrained(self.find_location(name, self.encoders), device=self._device)

    def _open_translator(self, name: str) -> tuple[Any, Any]:
        """Open a translation model and its tokenizer."""
        # The demo opens sooner without PyTorch.
        from ..translation.loading import load_translation_model

        location = self.find_location(name, self.translators)
        model, tokenizer = load_translation_model(location, device=self._device, **self.languages)
        return model.eval(), tokenizer

    def _open_paraphraser(self, forward: str, backward: str) -> Paraphraser:
        """Open two models for a round trip, or one multilingual model."""
        from ..paraphrasing.paraphraser import Paraphraser

        locations = tuple(dict.fromkeys(self.find_location(name, self.translators) for name in (forward, backward)))
        source, target = self.languages.get("source_lang"), self.languages.get("target_lang")
        pivots = () if target is None else (target,)
        return Paraphraser(locations, num=MOST_PARAPHRASES, language=source, pivots=pivots, device=self._device)


def _find_models(location: str) -> Iterator[CatalogueModel]:
    """Yield the model in a folder or, if it is not a model, the models below it, sorted by name."""
    folder = model_folder(location)
    if not folder.is_dir():
        raise UsageError("no such folder", path=location, remedy="give folders that contain models to --models")
    if any((folder / name).is_file() for name in (_SETTINGS, _MODULES)):
        name = location if str(folder) != location else folder.resolve().name
        yield _read_model(name, location, folder)
        return
    empty = True
    for path in _list_model_folders(folder):
        try:
            model = _read_model(path.relative_to(folder).as_posix(), str(path), path)
        except HfParaphraseError:
            continue  # damaged
        if model.translates or _is_encoder(path):
            empty = False
            yield model
    if empty:
        raise UsageError(
            "no sentence encoder or translation model in this folder",
            path=location,
            remedy="give one that train-encoder, distill, train-nmt or quickstart made",
        )


def _list_model_folders(folder: Path) -> Iterator[Path]:
    """Yield the model folders below a folder, except hidden ones, checkpoints and models inside models."""
    folders = {path.parent for name in (_SETTINGS, _MODULES) for path in folder.rglob(name)}
    for path in sorted(folders):
        inner = any(part.startswith((".", "checkpoint-")) for part in path.relative_to(folder).parts)
        if not inner and folders.isdisjoint(path.parents):
            yield path


def _read_model(name: str, location: str, folder: Path) -> CatalogueModel:
    """Read the kind and the languages of a model from its settings."""
    settings = read_optional_json(folder / _SETTINGS)
    classes = [str(name) for name in settings.get("architectures") or []]
    translates = bool(settings.get("is_encoder_decoder")) and any(name.endswith(_TRANSLATORS) for name in classes)
    tokenizer = read_optional_json(folder / "tokenizer_config.json") if translates else {}
    source, target = (settings.get(key) or tokenizer.get(key) for key in ("source_lang", "target_lang"))
    return CatalogueModel(name, location, translates, (source, target))


def _is_encoder(folder: Path) -> bool:
    model_type = read_optional_json(folder / _SETTINGS).get("model_type")
    if (folder / _MODULES).is_file() and model_type not in MODELS:
        return True
    return model_type in (*SENTENCE_ENCODERS, MODEL2VEC, *list_own_classes())
