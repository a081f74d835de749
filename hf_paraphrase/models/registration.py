"""Makes the Auto classes of transformers know our model types, without importing transformers by itself.

`import hf_paraphrase` must stay cheap, and importing transformers is not. So if transformers' auto module is loaded
already, registration happens at once; otherwise it happens at the end of that module's own import, whoever causes it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from .registry import MODELS, config_class, model_class, tokenizer_class

_AUTO_MODULE = "transformers.models.auto.modeling_auto"
_CONFIG_MODULE = "transformers.models.auto.configuration_auto"
_TOKENIZER_MODULE = "transformers.models.auto.tokenization_auto"


def register_configurations() -> None:
    """Registers every configuration with `AutoConfig`."""
    auto = sys.modules[_CONFIG_MODULE]
    for model_type in MODELS:
        auto.AutoConfig.register(model_type, config_class(model_type), exist_ok=True)


def register_models() -> None:
    """Registers every model with its Auto class."""
    auto = sys.modules[_AUTO_MODULE]
    for model_type, entry in MODELS.items():
        getattr(auto, entry.auto_class).register(config_class(model_type), model_class(model_type), exist_ok=True)


def register_tokenizers() -> None:
    """Registers the tokenizer classes of our own with `AutoTokenizer`."""
    auto = sys.modules[_TOKENIZER_MODULE]
    for model_type in MODELS:
        tokenizer = tokenizer_class(model_type)
        if tokenizer is None:
            continue
        kind = (
            "fast_tokenizer_class"
            if "TokenizersBackend" in {base.__name__ for base in tokenizer.mro()}
            else ("slow_tokenizer_class")
        )
        auto.AutoTokenizer.register(config_class(model_type), **{kind: tokenizer}, exist_ok=True)


_ACTIONS = {
    _CONFIG_MODULE: register_configurations,
    _AUTO_MODULE: register_models,
    _TOKENIZER_MODULE: register_tokenizers,
}


class _RegisteringLoader(Loader):
    """Runs a module's own loader, then our registration."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _ACTIONS[module.__name__]()


class _AutoModuleFinder(MetaPathFinder):
    """Finds transformers' auto modules as the import system does and puts our loader round theirs."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _ACTIONS:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _RegisteringLoader(spec.loader)
        return spec


def register_when_imported() -> None:
    """Registers now what can be registered now, and the rest when transformers' auto modules get imported."""
    if not any(isinstance(finder, _AutoModuleFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AutoModuleFinder())
    for name, action in _ACTIONS.items():
        if name in sys.modules:
            action()
