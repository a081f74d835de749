"""Registries of objects by name, imported at first use; `hf-paraphrase --import FILE …` adds objects of a file."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections import UserDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from .errors import InputError, UsageError, choice_of
from .messages import warn_renamed

T = TypeVar("T")

BUILTIN, MULTILINGUAL = BUILTINS = ("builtin", "multilingual")
"""The sentence encoders that are installed with the package, for English and for several languages."""
TRUST_REMOTE_CODE = "HF_PARAPHRASE_TRUST_REMOTE_CODE"
"""The variable that is 1 if the code of model folders may run: `hf-paraphrase --trust-remote-code COMMAND …`."""
_IMPORTED = "hf_paraphrase_import."


RENAMED = {
    "hf_paraphrase.encoders.EncoderKind": "hf_paraphrase.encoders.Architecture",
    "hf_paraphrase.encoders.distillation.Letters": "hf_paraphrase.encoders.distillation.CharNgramEmbeddings",
    "hf_paraphrase.deduplicate_files": "hf_paraphrase.deduplicate",
    "hf_paraphrase.environment": "hf_paraphrase.env",
    "hf_paraphrase.estimate_lexical_table": "hf_paraphrase.lexical_table",
    "hf_paraphrase.evaluate_translation": "hf_paraphrase.evaluate_nmt",
    "hf_paraphrase.export_encoder": "hf_paraphrase.export",
    "hf_paraphrase.filter_pairs": "hf_paraphrase.filter",
    "hf_paraphrase.join_encoders": "hf_paraphrase.join",
    "hf_paraphrase.train_reference_classifier": "hf_paraphrase.train_classifier",
    "hf_paraphrase.SearchOptions": "hf_paraphrase.BeamSearchConfig",
    "hf_paraphrase.train_translation": "hf_paraphrase.train_nmt",
    "hf_paraphrase.hub.check_licence": "hf_paraphrase.hub.check_redistribution",
    "hf_paraphrase.encoders.join_encoders": "hf_paraphrase.join",
    "hf_paraphrase.studies.mining.ParallelClassifier": "hf_paraphrase.classification.ParallelClassifier",
    "hf_paraphrase.filtering.FilterSteps": "hf_paraphrase.filtering.FilterPipeline",
    "hf_paraphrase.filtering.filter_pairs": "hf_paraphrase.filter",
    "hf_paraphrase.translation.estimate_lexical_table": "hf_paraphrase.lexical_table",
    "hf_paraphrase.translation.evaluate_translation": "hf_paraphrase.evaluate_nmt",
    "hf_paraphrase.translation.SearchOptions": "hf_paraphrase.translation.BeamSearchConfig",
    "hf_paraphrase.translation.train_translation": "hf_paraphrase.train_nmt",
}
"""Former names of public objects with their new names; the former names work, and warn once."""

EXPORTS: dict[str, dict[str, str]] = {}
"""The public names of each package that imports them at first use, with the modules that define them."""


def lazy_exports(
    package: str, names: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make the `__getattr__`, `__dir__` and `__all__` of a package that imports its public names at first use.

    Type checkers read `__init__.pyi` of the package, which `scripts/documentation/stubs.py` writes.

    Args:
        package: The name of the package.
        names: The public names by the modules that define them, relative to the package: `{"data.folder": [...]}`.
    """
    modules = {name: f".{module}" for module, listed in names.items() for name in listed}
    EXPORTS[package] = modules

    def get_attribute(name: str) -> Any:
        if (new_name := RENAMED.get(f"{package}.{name}")) is not None:
            warn_renamed(f"{package}.{name}", new_name)
            new_package, _, new_name = new_name.rpartition(".")
            return getattr(importlib.import_module(new_package), new_name)
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(modules[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    return get_attribute, lambda: sorted({*vars(sys.modules[package]), *modules}), list(modules)


class Registry(UserDict[str, Any]):
    """Objects of one `kind` by their names; an entry `module:attribute` is imported when it is asked for."""

    def __init__(self, kind: str, entries: Mapping[str, str]) -> None:
        self.kind = kind
        super().__init__(entries)

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that registers an object or class under a name."""

        def add(value: T) -> T:
            # The copy of a file that travels with a model only serves to open the model.
            if _origin(value).startswith("transformers_modules."):
                return value
            # A file that is imported again, as in a notebook, replaces its earlier objects.
            if name in self.data and _origin(self.data[name]) != _origin(value):
                raise UsageError(f"there is a {self.kind} `{name}` already", remedy="register it under another name")
            self.data[name] = value
            return value

        return add

    def __getitem__(self, name: str) -> Any:
        """Return the object of a name, and import it at the first use."""
        if name not in self.data:
            raise UsageError(f"there is no {self.kind} `{name}`", remedy=choice_of(name, self.data))
        if isinstance(self.data[name], str):
            module, _, attribute = self.data[name].partition(":")
            self.data[name] = getattr(importlib.import_module(module), attribute)
        return self.data[name]

    def summary(self, name: str) -> str:
        """Return one line about an object: its `SUMMARY`, or the first line of its docstring."""
        value = self[name]
        return getattr(value, "SUMMARY", None) or (value.__doc__ or "").strip().partition("\n")[0]


def _origin(value: Any) -> str:
    if isinstance(value, str):
        return value
    return f"{getattr(value, '__module__', None)}:{getattr(value, '__qualname__', repr(value))}"


def import_file(path: str | os.PathLike[str]) -> None:
    """Run a Python file of the user, whose decorators register objects."""
    path = Path(path)
    # Classes are looked up by their module; its last part is the file with which a user's model is saved.
    name = f"{_IMPORTED}{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path) if path.is_file() else None
    if spec is None or spec.loader is None:
        what = "not a Python file" if path.is_file() else "no such file"
        raise InputError(what, path=path, remedy="--import takes a file that ends in .py")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise InputError(f"import failed: {type(error).__name__}: {error}", path=path, remedy="fix it") from error


def imported_files() -> list[str]:
    """List the user's files that this process has imported, so that other processes can import them too."""
    return [str(module.__file__) for name, module in sys.modules.items() if name.startswith(_IMPORTED)]


LOSSES = Registry(
    "loss",
    {
        "margin": "hf_paraphrase.encoders.losses:MarginLoss",
        "ranking": "hf_paraphrase.encoders.losses:RankingLoss",
        "symmetric-ranking": "hf_paraphrase.encoders.losses:SymmetricRankingLoss",
        "cosent": "hf_paraphrase.encoders.losses:CosentLoss",
        "triplet": "hf_paraphrase.encoders.losses:TripletLoss",
        "labelled": "hf_paraphrase.encoders.losses:ContrastiveLoss",
        "contrastive": "hf_paraphrase.encoders.losses:ContrastiveLoss",
    },
)
"""Losses of encoder training, `torch.nn.Module` classes."""

MEASURES = Registry(
    "measure",
    {
        "length": "hf_paraphrase.filtering.measures.wording:Length",
        "overlap": "hf_paraphrase.filtering.measures.wording:Overlap",
        "bleu": "hf_paraphrase.filtering.measures.wording:SentenceBleu",
        "edit_distance": "hf_paraphrase.filtering.measures.wording:EditDistance",
        "repetition": "hf_paraphrase.filtering.measures.wording:Repetition",
        "copy_rate_source": "hf_paraphrase.filtering.measures.wording:SourceCopyRate",
        "cost": "hf_paraphrase.filtering.measures.models:TranslationCost",
        "perplexity": "hf_paraphrase.filtering.measures.models:Perplexity",
        "reference_probability": "hf_paraphrase.filtering.measures.models:ReferenceProbability",
        "similarity": "hf_paraphrase.filtering.measures.models:Similarity",
        "cross_encoder": "hf_paraphrase.filtering.measures.models:CrossEncoderScore",
        "language": "hf_paraphrase.filtering.measures.models:LanguageIdentification",
        "language_source": "hf_paraphrase.filtering.measures.models:SourceLanguageIdentification",
        "chrf": "hf_paraphrase.filtering.measures.wording:CharacterFScore",
        "ter": "hf_paraphrase.filtering.measures.wording:TranslationEditRate",
        "token_f1": "hf_paraphrase.filtering.measures.wording:TokenFScore",
        "kendall_tau": "hf_paraphrase.filtering.measures.wording:WordOrder",
    },
)
"""Measures of pairs, classes of :mod:`hf_paraphrase.filtering.measures`, in the order of their columns."""

SELECTIONS = Registry("selection", {"different": "hf_paraphrase.filtering.selections:different"})
"""Selections for `filter --keep NAME`: functions that mark rows to keep; parameters are named like columns."""

ENCODERS = Registry(
    "type of encoder",
    {
        "avg": "hf_paraphrase.encoders.architectures:AVG",
        "gran": "hf_paraphrase.encoders.architectures:GRAN",
        "recurrent": "hf_paraphrase.encoders.architectures:RECURRENT",
        "trigram": "hf_paraphrase.encoders.architectures:TRIGRAM",
        "word-trigram": "hf_paraphrase.encoders.architectures:WORD_TRIGRAM",
    },
)
"""Sentence encoders to train: `PreTrainedModel` or `hf_paraphrase.encoders.architectures.Architecture` objects."""

MATCHERS = Registry("matcher", {"similarity": "hf_paraphrase.encoders.search_embedder:SimilarSentences"})
"""Comparisons of decontamination besides words, `hf_paraphrase.text.fingerprints.Matcher` classes."""

SUITES = Registry(
    "suite",
    {
        "sts": "hf_paraphrase.evaluation.sts:STS",
        "paraphrase": "hf_paraphrase.evaluation.paraphrase:DETECTION",
        "graded": "hf_paraphrase.evaluation.sts:GRADED",
        "senteval": "hf_paraphrase.evaluation.transfer:TRANSFER",
        "retrieval": "hf_paraphrase.evaluation.retrieval:RETRIEVAL",
        "classification": "hf_paraphrase.evaluation.transfer:CLASSIFICATION",
        "translations": "hf_paraphrase.evaluation.translations:TRANSLATIONS",
    },
)
"""Benchmarks of `evaluate`, `hf_paraphrase.evaluation.suite.Suite` objects; the first that reads the data is used."""

SOURCES = Registry(
    "source",
    {
        "bitext": "hf_paraphrase.data.sources.bitext:BitextSource",
        "pairs": "hf_paraphrase.data.sources.pairs:PairsSource",
        "pivot": "hf_paraphrase.data.sources.pivot:PivotSource",
        "ppdb": "hf_paraphrase.data.sources.corpora:PpdbSource",
        "opusparcus": "hf_paraphrase.data.sources.corpora:OpusparcusSource",
        "simpwiki": "hf_paraphrase.data.sources.corpora:SimpwikiSource",
        "turku": "hf_paraphrase.data.sources.corpora:TurkuSource",
        "sts": "hf_paraphrase.data.sources.graded:StsSource",
        "stsbenchmark": "hf_paraphrase.data.sources.graded:StsBenchmarkSource",
        "sick": "hf_paraphrase.data.sources.graded:SickSource",
        "pit2015": "hf_paraphrase.data.sources.graded:Pit2015Source",
        "msrp": "hf_paraphrase.data.sources.corpora:MsrpSource",
        "transfer": "hf_paraphrase.data.sources.corpora:TransferSource",
        "comparable": "hf_paraphrase.studies.mining.comparable:prepare_comparable",
    },
)
"""Sources of raw data for `prepare SOURCE`, `hf_paraphrase.data.sources.source.Source` classes, or recipes."""
