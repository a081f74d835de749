"""Makes the Auto classes of transformers know our model types, without importing transformers by itself.

`import hf_paraphrase` must stay cheap, and importing transformers is not. So if transformers' auto module is loaded
already, registration happens at once; otherwise it happens at the end of that module's own import, whoever causes it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from .registry import MODELS, config_class, model_class, tokenizer_class


def _register_configurations(auto: Any) -> None:
    for model_type in MODELS:
        auto.AutoConfig.register(model_type, config_class(model_type), exist_ok=True)


def _register_models(auto: Any) -> None:
    for model_type, entry in MODELS.items():
        getattr(auto, entry.auto_class).register(config_class(model_type), model_class(model_type), exist_ok=True)


def _register_tokenizers(auto: Any) -> None:
    for model_type in MODELS:
        tokenizer = tokenizer_class(model_type)
        if tokenizer is not None:
            fast = "TokenizersBackend" in {base.__name__ for base in tokenizer.mro()}
            kind = "fast_tokenizer_class" if fast else "slow_tokenizer_class"
            auto.AutoTokenizer.register(config_class(model_type), **{kind: tokenizer}, exist_ok=True)


_ACTIONS = {
    "transformers.models.auto.configuration_auto": _register_configurations,
    "transformers.models.auto.modeling_auto": _register_models,
    "transformers.models.auto.tokenization_auto": _register_tokenizers,
}


class _AutoModuleFinder(MetaPathFinder):
    """Finds transformers' auto modules as the import system does, and has them end with our registration."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _ACTIONS:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            run_module = spec.loader.exec_module

            def run_and_register(module: ModuleType) -> None:
                run_module(module)
                _ACTIONS[fullname](module)

            setattr(spec.loader, "exec_module", run_and_register)  # noqa: B010
        return spec


def register_when_imported() -> None:
    """Registers now what can be registered now, and the rest when transformers' auto modules get imported."""
    if not any(isinstance(finder, _AutoModuleFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AutoModuleFinder())
    for name, action in _ACTIONS.items():
        if name in sys.modules:
            action(sys.modules[name])
