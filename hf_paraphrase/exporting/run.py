"""The command `export`: writes an encoder or classifier as an ONNX graph, JSON, or a folder with quantized weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.artefact import Artefact, Card
from ..artefacts.files import quiet_transformers, read_optional_json, write_json
from ..artefacts.hub_models import model_folder
from ..artefacts.model_loading import check_model_type, load_model_folder
from ..artefacts.provenance import find_earlier_weight, read_provenance
from ..artefacts.weights import (
    DTYPE_KEY,
    INT4,
    INT8,
    PACKED_TABLE,
    SCALES,
    TABLE,
    TABLE_MODELS,
    StoredMatrix,
    pack_int4,
    read_headers,
    read_table,
)
from ..data.sentences import lines_of_file
from ..data.text_blocks import PLAIN_OR_COMPRESSED
from ..encoders.backends.batch_tokenizer import InputProcessing
from ..encoders.backends.opening import fetch_folder
from ..encoders.backends.sentence_transformers_files import (
    ONNX_FILE,
    OPTIONS_FILE,
    is_onnx_folder,
    read_options,
    read_processing,
    write_module_files,
    write_options,
    write_package_module,
    write_processing,
)
from ..encoders.model_folder import describe_source, find_card_name
from ..errors import InputError, ModelError, UsageError, missing_package
from ..messages import log
from ..models.registry import SENTENCE_ENCODERS, model_class
from ..settings import Settings, recipe, setting
from ..vectors.similarity import cosine_similarities

if TYPE_CHECKING:
    from transformers import PreTrainedModel

WEIGHTS = ("float32", "float16", INT8, INT4)
FORMATS = ("onnx", "safetensors", "json")
CLASSIFIER = "sentence_classifier"
_LARGEST_INT8 = 127
_INT4_STEP = 0.37
"""Distance of the 16 numbers of `int4` in root mean squares of a row. On dev data 0.37 to 0.55 were alike."""


@dataclass(kw_only=True)
class ExportSettings(Settings):
    """Export a sentence encoder or classifier for programs without PyTorch, or an encoder with smaller weights.

    `--format onnx` makes a folder with `onnx/model.onnx`, which runs with onnxruntime and tokenizers alone and gives
    the vectors of the model. `--format safetensors` makes a model folder like the given one; with `--weights int8` it
    is a quarter as large, with int4 an eighth. All commands open it; so does sentence-transformers where this package
    is installed, and model2vec if it is a single average in int8, but not AutoModel. ONNX, int8 and int4 are for
    averages of vectors (avg, trigram, word-trigram); float16 is for every type of sentence encoder.

    A classifier of single sentences that train-supervised made becomes a graph from token ids to `logits` and
    `probabilities`; with --freeze-encoder it can be `--format json`: classifier.json has labels, weights and bias.
    """

    model: str = setting(
        "folder of a sentence encoder or of a classifier of train-supervised, or namespace/name on the Hub",
        path=True,
    )
    output: str = setting("output folder; it appears only when complete")
    format: str = setting("onnx: a graph; safetensors: a folder; json: a classifier's head", "onnx", choices=FORMATS)
    weights: str = setting(
        "type of stored matrices: float32; float16, half the size; int8, a quarter, with a scale per row; int4, an "
        "eighth, for --format safetensors",
        "float32",
        choices=list(WEIGHTS),
    )
    sentences: str | None = setting(
        f"text, one sentence per line, {PLAIN_OR_COMPRESSED}: compare its vectors before and after rounding",
        None,
        path=True,
    )
    frequency_weight: float | None = setting(
        "a, such as 0.01: multiply each token vector by a / (a + p), p being its relative frequency in --sentences, "
        "so that frequent words count less; for averages of one table (avg, trigram)",
        None,
        at_least=1e-6,
        only_with="sentences",
    )
    center: bool = setting(
        "subtract the mean embedding of --sentences from every embedding; for averages of one table",
        False,
        only_with="sentences",
    )
    subword_weight: float | None = setting(
        "b, such as 0.5: multiply each token vector by 1 + b s, s being the fraction of its occurrences in "
        "--sentences in words of several tokens, so that rare words count more; for averages and joined averages",
        None,
        at_least=1e-6,
        only_with="sentences",
    )
    words: list[str] = setting(
        f"files of words, one per line, {PLAIN_OR_COMPRESSED}: words of several tokens become one, whose vector is "
        "between the sum of their vectors and the vector of --words-teacher; for averages of one table with BPE",
        [],
        path=True,
        only_with="words_teacher",
    )
    words_teacher: str | None = setting("sentence encoder that knows the words", None, path=True, only_with="words")
    word_length: float = setting(
        "length of the vectors of --words, in medians of the others; the longer, the more these words count",
        1.4,
        above=0,
        only_with="words",
    )
    trust_remote_code: bool = setting(
        "run the Python code that the folder of the teacher contains; read the code first",
        False,
        only_with="words_teacher",
    )
    overwrite: bool = setting("replace an existing output folder", False)

    @property
    def changes_table(self) -> bool:
        """Whether the table is changed before it is rounded."""
        return bool(self.frequency_weight is not None or self.subword_weight is not None or self.center or self.words)

    def check(self) -> None:
        """Refuse values that do not fit, and an ONNX export without its packages."""
        super().check()
        if self.format == "onnx":
            for package in ("onnx", "onnxscript", "onnxruntime"):
                if find_spec(package) is None:
                    raise missing_package(package)


@dataclass(frozen=True)
class Exported:
    """The folder that an export made, and the results in its `provenance.json`: sizes, cosines and differences."""

    folder: Path
    results: dict[str, Any]


@recipe(ExportSettings)
def export(settings: ExportSettings) -> Exported:
    """Export an encoder or classifier in the chosen format, and compare the export with the model."""
    source = model_folder(settings.model)
    if is_onnx_folder(source):
        remedy = "give the model that it was made from"
        raise ModelError("an ONNX export cannot be exported again", path=source, remedy=remedy)
    kind = "sentence encoder or classifier, and nothing else can be exported"
    model_type = check_model_type(source, (*SENTENCE_ENCODERS, CLASSIFIER), kind=kind, verb="train-encoder")
    inputs = list(filter(None, [settings.model, settings.sentences, *settings.words, settings.words_teacher]))
    if settings.words_teacher:
        fetch_folder(settings.words_teacher, settings.trust_remote_code)
    with Artefact(settings.output, command="export", settings=settings, inputs=inputs) as artefact:
        results = _export(settings, artefact, source, model_type)
    _log(settings, source, results)
    return Exported(Path(settings.output), results)


def _export(settings: ExportSettings, artefact: Artefact, source: Path, model_type: str) -> dict[str, Any]:
    import torch

    from ..encoders.sentence_encoder import SentenceEncoder
    from ..tokenization.word_level import save_tokenizer
    from .added_words import add_words
    from .onnx_graphs import compute_embeddings
    from .token_weights import center_embeddings, weight_subwords, weight_tokens_by_frequency

    sentences = list(chain.from_iterable(lines_of_file(Path(path)) if (path := settings.sentences) else []))
    model, tokenizer = load_model_folder(source, model_class(model_type))
    model = model.float()
    encoder = model.base_model
    earlier_weights = {name: find_earlier_weight(source, name) for name in ("frequency_weight", "subword_weight")}
    _check(settings, source, model.config, encoder.config.model_type, earlier_weights)
    if (
        settings.sentences
        and settings.changes_table
        and not SentenceEncoder(encoder, tokenizer).encode(sentences).any()
    ):
        remedy = "give sentences in a language of the encoder"
        raise InputError("no token of the text is in the encoder's vocabulary", path=settings.sentences, remedy=remedy)
    if settings.frequency_weight is not None:
        weight_tokens_by_frequency(encoder, tokenizer, sentences, settings.frequency_weight)
    if settings.center:
        center_embeddings(encoder, tokenizer, sentences)
    if settings.subword_weight is not None:
        weight_subwords(encoder, tokenizer, sentences, settings.subword_weight)
    added = {}
    if settings.words and settings.words_teacher:
        teacher = SentenceEncoder.from_pretrained(settings.words_teacher, trust_remote_code=settings.trust_remote_code)
        words = [word for path in settings.words for block in lines_of_file(Path(path)) for word in block]
        previous = encoder.config.vocab_size
        model, tokenizer = add_words(encoder, tokenizer, words, teacher, settings.word_length)
        encoder, added = model, {"words": len(words), "added_words": model.config.vocab_size - previous}
    processing, options = read_processing(source), read_options(source)
    sentences_before = SentenceEncoder(encoder, tokenizer, processing=processing, **options).encode(sentences)
    before = None if settings.format == "json" else compute_embeddings(encoder)
    stored = store_weights({key: value.numpy() for key, value in encoder.state_dict().items()}, settings.weights)
    has_integers = DTYPE_KEY in read_optional_json(source / "config.json")
    exact = (INT8, INT4) if PACKED_TABLE in read_headers(source) else (INT8,)
    if has_integers and settings.weights in exact and not settings.changes_table:
        stored = {TABLE: read_table(source / "model.safetensors")}
    encoder.load_state_dict({key: torch.from_numpy(value.rounded()) for key, value in stored.items()})
    lowest = 1.0 if before is None else float(compute_cosines(before, compute_embeddings(encoder)).min(initial=1.0))
    results: dict[str, Any] = {"lowest_cosine": lowest, **added}
    for name, earlier in earlier_weights.items():
        if (weight := getattr(settings, name) or earlier) is not None:
            results[name] = weight
    staging = artefact.staging
    if settings.format == "json":
        write_json(staging / "classifier.json", _plain_head(source, model))
    else:
        save_tokenizer(tokenizer, staging)
    if settings.format == "onnx":
        results |= _write_graph(staging, model, stored[TABLE])
    elif settings.weights in (INT8, INT4):
        _write_integer_table(staging, model.config, stored[TABLE], settings.weights)
    elif settings.format == "safetensors":
        _write_weights(staging, model.to(getattr(torch, settings.weights)))
    if settings.format != "json":
        if (source / OPTIONS_FILE).is_file():
            write_options(staging, options)
        if processing != InputProcessing():
            write_processing(staging, processing)
    results["megabytes"] = sum(_megabytes(staging, name) for name in ("onnx/*", "*.safetensors", "classifier.json"))
    results["source_megabytes"] = _megabytes(source, "*.safetensors")
    if sentences:
        cosines = compute_cosines(sentences_before, SentenceEncoder.from_pretrained(staging).encode(sentences))
        results["sentences"] = len(sentences)
        results["lowest_sentence_cosine"] = float(cosines.min(initial=1.0))
        results["mean_sentence_cosine"] = float(cosines.mean()) if len(cosines) else 1.0
    artefact.finish(results=results, card=_card(artefact, model, source, settings, results))
    return results


def _check(
    settings: ExportSettings, source: Path, config: Any, encoder_type: str, earlier_weights: Mapping[str, Any]
) -> None:
    """Refuse a model that cannot be exported with these settings."""
    is_classifier, is_json = config.model_type == CLASSIFIER, settings.format == "json"
    if (settings.frequency_weight is not None or settings.center or settings.words) and encoder_type != "avg":
        flags = "--frequency-weight, --center and --words"
        problem = f"{flags} are for averages of one table, not for type {encoder_type}"
        raise UsageError(problem, remedy="leave them out")
    if settings.subword_weight is not None and encoder_type not in TABLE_MODELS:
        problem = f"--subword-weight is for {' and '.join(TABLE_MODELS)}, not for type {encoder_type}"
        raise UsageError(problem, remedy="leave it out")
    for name, earlier in earlier_weights.items():
        if getattr(settings, name) is not None and earlier is not None:
            flag = f"--{name.replace('_', '-')}"
            problem = f"{flag}: an earlier export has weighted the tokens already, with {earlier}"
            remedy = f"give the encoder that was exported, or leave {flag} out"
            raise ModelError(problem, path=source, remedy=remedy)
    if settings.weights == INT4 and settings.format != "safetensors":
        raise UsageError("--weights int4 is for --format safetensors", remedy="use --weights int8")
    if (settings.format == "onnx" or settings.weights in (INT8, INT4)) and encoder_type not in TABLE_MODELS:
        types = " and ".join(TABLE_MODELS)
        problem = f"--format onnx and --weights int8 and int4 are for {types}, not for type {encoder_type}"
        remedy = f"use --format {'json' if is_classifier else 'safetensors --weights float16'}"
        raise UsageError(problem, remedy=remedy)
    if is_json and not (is_classifier and settings.weights == "float32"):
        raise UsageError("--format json is for classifiers, without --weights", remedy="use --format onnx")
    if is_classifier and (config.pairs or config.objective not in {"classification", "multi_label"}):
        raise UsageError("a classifier of pairs or scores cannot be exported", remedy="apply it with predict")
    if is_classifier and (settings.sentences is not None or settings.words or settings.format == "safetensors"):
        raise UsageError(
            "--sentences, --words and --format safetensors are for encoders", remedy="use --format onnx or json"
        )
    if is_json and not read_provenance(source).get("settings", {}).get("freeze_encoder"):
        problem = "--format json is for a classifier on a frozen encoder"
        raise UsageError(problem, remedy="train it with --freeze-encoder, or use --format onnx")


def _plain_head(source: Path, model: PreTrainedModel) -> dict[str, Any]:
    """Return labels, weights and bias of a linear head, with the encoder's name and SHA-256, for `classifier.json`."""
    config, record = model.config, read_provenance(source)["inputs"][0]
    return {
        "problem_type": config.problem_type,
        "activation": "softmax" if config.objective == "classification" else "sigmoid",
        "labels": [config.id2label[number] for number in range(config.num_labels)],
        "encoder": {"name": record["name"], "sha256": record["sha256"]},
        **{name: value.tolist() for name, value in model.classifier.state_dict().items()},
    }


def _megabytes(folder: Path, pattern: str) -> float:
    return sum(path.stat().st_size for path in folder.glob(pattern)) / 1e6


def _write_graph(folder: Path, model: PreTrainedModel, table: StoredMatrix) -> dict[str, Any]:
    """Write graph and configuration; return measurements. The model has the rounded weights."""
    from .onnx_graphs import OPSET, draw_probes, save_onnx, verify

    save_onnx(model, table, folder / ONNX_FILE)
    difference = verify(model, folder / ONNX_FILE)
    model.config.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    # There are no weights for a class to open.
    code = {name: target for name, target in config.get("auto_map", {}).items() if name == "AutoConfig"}
    write_json(folder / "config.json", config | {"dtype": "float32", "auto_map": code})
    checked = sum(len(ids) for ids, _ in draw_probes(model.base_model.config))
    return {"largest_difference": difference, "checked": checked, "opset": OPSET}


def _write_weights(folder: Path, model: PreTrainedModel) -> None:
    """Write a model folder with the weights in the type that they have in the model."""
    with quiet_transformers():
        model.save_pretrained(folder)
    write_module_files(folder, model.config.hidden_size, is_table=model.config.model_type == "avg")


def _write_integer_table(folder: Path, config: Any, table: StoredMatrix, weights: str) -> None:
    """Write a folder of integers as `artefacts.weights` reads it."""
    from safetensors.numpy import save_file

    assert table.scales is not None
    # Under the usual name, model2vec would take packed numbers for vectors.
    values = {PACKED_TABLE: pack_int4(table.values)} if weights == INT4 else {TABLE: table.values}
    save_file(values | {SCALES: table.scales}, folder / "model.safetensors", {"format": "np"})
    write_json(folder / "config.json", config.to_diff_dict() | {"dtype": "float32", DTYPE_KEY: weights})
    write_package_module(folder)
    # With code of model or tokenizer in the folder, transformers would take the integers for vectors.
    for code in folder.glob("*.py"):
        code.unlink()
    for name in ("config.json", "tokenizer_config.json"):
        values = json.loads((folder / name).read_text(encoding="utf-8"))
        write_json(folder / name, {k: value for k, value in values.items() if k not in {"auto_map", "architectures"}})
    tokenizer = read_optional_json(folder / "tokenizer.json")
    merges = tokenizer.get("model", {}).get("merges")
    if merges and not any(" " in piece for pair in merges for piece in pair):
        # Much of the start is reading the tokenizer, which takes a fifth less with each pair in one string.
        tokenizer["model"]["merges"] = [" ".join(pair) for pair in merges]
        text = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
        (folder / "tokenizer.json").write_text(text, encoding="utf-8")


def _card(
    artefact: Artefact, model: PreTrainedModel, source: Path, settings: ExportSettings, results: Mapping[str, Any]
) -> Card:
    name, config, encoder_config = artefact.target.name, model.config, model.base_model.config
    library = "hf-paraphrase" if settings.weights in (INT8, INT4) or settings.format == "json" else "transformers"
    return Card(
        "exported_encoder",
        {
            **describe_source(source, artefact.staging),
            "library_name": "onnx" if settings.format == "onnx" else library,
            "model_type": config.model_type,
            "labels": list(config.id2label.values()) if config.model_type == CLASSIFIER else [],
            "format": settings.format,
            "weights": settings.weights,
            "frequency_weight": settings.frequency_weight,
            "subword_weight": settings.subword_weight,
            "center": settings.center,
            "title": name,
            "name": name,
            "hidden_size": encoder_config.hidden_size,
            "vocab_sizes": list(getattr(encoder_config, "vocab_sizes", [])),
            **dict.fromkeys(("opset", "largest_difference", "checked", "sentences", "added_words")),
            "changed": settings.changes_table,
            "words_teacher": find_card_name(settings.words_teacher) if settings.words_teacher else None,
            # The words and their teacher are the last inputs.
            "word_inputs": len({*settings.words}) + 1,
            **results,
        },
        kind="model_cards",
    )


def _log(settings: ExportSettings, source: Path, results: Mapping[str, Any]) -> None:
    sizes = f"{results['megabytes']:.1f} MB of weights ({results['source_megabytes']:.1f} MB in {source})"
    compared = "the changed vectors before rounding" if settings.changes_table else "the model's vectors"
    nearest = f"; cosine with {compared} at least {results['lowest_cosine']:.6f}"
    log(f"{settings.output}: {sizes}{'' if settings.format == 'json' else nearest}")
    if "added_words" in results:
        others = "the others are tokens already, phrases, or unknown to the teacher"
        log(f"{results['added_words']:,} of {results['words']:,} words are new tokens; {others}")
    if "largest_difference" in results:
        log(f"the graph differs from PyTorch by {results['largest_difference']:.1e} at most")
    if "sentences" in results:
        mean, lowest = results["mean_sentence_cosine"], results["lowest_sentence_cosine"]
        log(f"cosine of {results['sentences']:,} sentences: mean {mean:.6f}, minimum {lowest:.6f}")


def store_weights(values: Mapping[str, NDArray[Any]], weights: str) -> dict[str, StoredMatrix]:
    """Store the weights of a model; biases and peepholes, which are few, stay float32."""
    return {
        name: store(value, weights if value.ndim == 2 and not name.endswith("peepholes") else "float32", name=name)
        for name, value in values.items()
    }


def store(matrix: NDArray[Any], weights: str, *, name: str) -> StoredMatrix:
    """Store a matrix (rows, columns) in one of :data:`WEIGHTS`; messages call it `name`.

    `float16` rounds each number to 11 significant bits. `int8` divides each row by its scale, which is its largest
    absolute value over 127, and rounds to whole numbers, so that no number is off by more than half a scale. `int4`
    rounds to 16 numbers with equal distances, symmetric about 0, which cuts the few that lie further out, and scales
    each row to its length before: a token such as a name, with few large numbers, would count less otherwise.
    """
    matrix = np.ascontiguousarray(matrix, np.float32)
    if not np.isfinite(matrix).all():
        raise ModelError(f"the weights `{name}` have values that are not finite", remedy="train the model again")
    if weights == "float32":
        return StoredMatrix(matrix)
    largest = np.abs(matrix).max(axis=1, initial=0.0)
    if weights == "float16":
        if largest.max(initial=0.0) > (limit := np.finfo(np.float16).max):
            problem = f"the weights `{name}` have the value {largest.max():g}, but the maximum of float16 is {limit:g}"
            raise ModelError(problem, remedy="use --weights float32 or int8")
        return StoredMatrix(matrix.astype(np.float16))
    if weights == INT4:
        if matrix.shape[1] % 2:
            problem = f"the weights `{name}` have {matrix.shape[1]} columns, and int4 needs an even number"
            raise ModelError(problem, remedy="use --weights int8")
        lengths = np.linalg.norm(matrix.astype(np.float64), axis=1)
        steps = np.maximum(_INT4_STEP * lengths / np.sqrt(matrix.shape[1]), np.finfo(np.float32).tiny)
        rounded = 2 * np.clip(np.floor(matrix / steps[:, None]), -8, 7) + 1
        scales = lengths / np.linalg.norm(rounded, axis=1)
        return StoredMatrix(rounded.astype(np.int8), scales.astype(np.float32))
    scales = np.maximum(largest / _LARGEST_INT8, np.finfo(np.float32).tiny).astype(np.float32)
    values = np.clip(np.rint(matrix / scales[:, None]), -_LARGEST_INT8, _LARGEST_INT8)
    return StoredMatrix(values.astype(np.int8), scales)


def compute_cosines(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float64]:
    """Compute the cosines (rows,) between corresponding rows of two matrices (rows, dim); zero rows are left out."""
    return np.minimum(cosine_similarities(first, second)[first.any(axis=1) & second.any(axis=1)], 1.0)
