"""Opens translation models: RNNsearch, and any `AutoModelForSeq2SeqLM` with its languages and task prefix.

What the model is to translate is kept where transformers looks for it: the languages in `tokenizer.src_lang` and
`tgt_lang` and in the forced first token, a task prefix in `config.prefix`. `config.source_lang` and `target_lang`
name the languages of every model here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..artefacts.files import read_json_object, wrap_load_errors
from ..artefacts.hub_models import model_folder
from ..artefacts.model_loading import check_model_type, load_tokenizer, load_weights
from ..errors import ModelError, UsageError
from ..models.joined_tokenizers import PARTS_FILE
from ..models.modeling_rnn_search import RnnSearchForConditionalGeneration
from ..text.languages import is_language
from ..text.normalization import is_blank
from .bitext import are_different

_TOKENIZER_FILES = ("tokenizer.json", PARTS_FILE, "vocab.json", "vocab.txt", "*.model", "*.spm", "merges.txt")
_TASK = re.compile(r"translation_(\w+?)_to_(\w+)")
"""The names of the tasks of a T5 model."""


def load_translation_model(
    folder: str | os.PathLike[str],
    *,
    device: str | None = None,
    source_lang: str | None = None,
    target_lang: str | None = None,
    task_prefix: str | None = None,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Open a model by its folder or its name on the Hub, in fp32, on a GPU if there is one and no device is given.

    `source_lang` and `target_lang` are codes of a multilingual model. The task prefix is put before every source; the
    default is the prefix for the languages.
    """
    path = model_folder(folder, any_type=True)
    model_class = _model_class(path)
    if not any(file for pattern in _TOKENIZER_FILES for file in path.glob(pattern)):
        raise ModelError("the model has no tokenizer", path=path, remedy="save the tokenizer in the same folder")
    model = load_weights(path, model_class, dtype=torch.float32)
    tokenizer: PreTrainedTokenizerBase = load_tokenizer(path, model.config.vocab_size)
    try:
        _set_languages(model, tokenizer, source_lang, target_lang, task_prefix)
    except UsageError as error:
        error.path = os.fspath(folder)
        raise
    settings: Any = model.generation_config
    settings.decoder_start_token_id = _start_unit(model)
    settings.pad_token_id = tokenizer.pad_token_id
    if settings.eos_token_id is None:
        settings.eos_token_id = tokenizer.eos_token_id
    if None in (settings.decoder_start_token_id, settings.pad_token_id, settings.eos_token_id):
        remedy = "save the model and its tokenizer again"
        raise ModelError("the translation model has no start, padding or end unit", path=folder, remedy=remedy)
    return model.to(device or ("cuda" if torch.cuda.is_available() else "cpu")), tokenizer


def _model_class(folder: Path) -> type[PreTrainedModel]:
    """Return the class of a sequence-to-sequence model by its configuration."""
    from transformers import AutoConfig
    from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING

    settings = folder / "config.json"
    model_type = read_json_object(settings, ModelError).get("model_type") if settings.is_file() else "rnn_search"
    check_model_type(folder, [str(model_type)], kind="translation model", verb="train-nmt")
    if model_type == "rnn_search":
        return RnnSearchForConditionalGeneration
    with wrap_load_errors("the model", settings):
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    if type(config) not in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING or not config.is_encoder_decoder:
        problem = f"a model of type `{str(model_type)[:80]}` is not a translation model"
        remedy = "give a sequence-to-sequence model of transformers, or one made by train-nmt"
        raise ModelError(problem, path=folder, remedy=remedy)
    model_class: type[PreTrainedModel] = MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING[type(config)]
    return model_class


def _start_unit(model: PreTrainedModel) -> int | None:
    configs, names = (model.generation_config, model.config), ("decoder_start_token_id", "bos_token_id")
    subwords = (getattr(config, name, None) for config in configs for name in names)
    return next((int(subword) for subword in subwords if subword is not None), None)


# ----- languages


def _set_languages(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    source_lang: str | None,
    target_lang: str | None,
    task_prefix: str | None,
) -> None:
    """Make a model translate between two languages, by the convention of its family."""
    config: Any = model.config
    own: Any = tokenizer
    if codes := language_units(tokenizer):
        source_lang, target_lang = _set_language_codes(model, tokenizer, codes, source_lang, target_lang)
    elif marks := getattr(tokenizer, "supported_language_codes", None):
        source_lang = source_lang or own.source_lang
        if task_prefix is None:
            target_lang, task_prefix = _language_mark(config, marks, target_lang)
    elif tasks := _tasks(config):
        if task_prefix is None:
            source_lang, target_lang, task_prefix = _task(config, tasks, source_lang, target_lang)
    else:
        source_lang = _only_language(source_lang, model, tokenizer, "source")
        target_lang = _only_language(target_lang, model, tokenizer, "target")
        task_prefix = task_prefix if task_prefix is not None else getattr(config, "prefix", None)
    config.source_lang, config.target_lang, config.prefix = source_lang, target_lang, task_prefix


def _set_language_codes(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    codes: dict[str, int],
    source_lang: str | None,
    target_lang: str | None,
) -> tuple[str, str]:
    """Set the languages of an mBART, M2M-100 or NLLB model, whose decoder reads a language code first."""
    config: Any = model.config
    own: Any = tokenizer
    settings: Any = model.generation_config
    # A folder from train-nmt names its languages.
    source_lang = source_lang or getattr(config, "source_lang", None) or own.init_kwargs.get("src_lang")
    source = _checked_code(source_lang, codes, "source")
    target_lang = target_lang or getattr(config, "target_lang", None) or own.init_kwargs.get("tgt_lang")
    if not target_lang:
        forced = {settings.forced_bos_token_id, settings.decoder_start_token_id}
        target_lang = next((code for code, subword in codes.items() if subword in forced), None)
    target = _checked_code(target_lang, codes, "target")
    own.src_lang, own.tgt_lang = source, target
    start = settings.decoder_start_token_id
    start = getattr(config, "decoder_start_token_id", None) if start is None else start
    # The code is the start of the decoder in some models, and follows the start in others.
    is_start = start is None or start in codes.values()
    setattr(settings, "decoder_start_token_id" if is_start else "forced_bos_token_id", codes[target])
    return source, target


def _language_mark(config: Any, marks: Iterable[str], target_lang: str | None) -> tuple[str | None, str]:
    """Return the target language of a multilingual Marian model, and the mark that begins its sources."""
    prefixes = {mark.strip("><"): f"{mark} " for mark in marks}
    target_lang = target_lang or getattr(config, "target_lang", None)
    return target_lang, prefixes[_checked_code(target_lang, prefixes, "target")]


def _task(
    config: Any, tasks: dict[tuple[str, str], str], source_lang: str | None, target_lang: str | None
) -> tuple[str, str | None, str]:
    """Return the languages and the task prefix of a T5 model."""
    source = _checked_code(source_lang or getattr(config, "source_lang", None), (code for code, _ in tasks), "source")
    target_lang = target_lang or getattr(config, "target_lang", None)
    target = _checked_code(target_lang, [code for other, code in tasks if other == source], "target")
    return source, target_lang, tasks[source, target]


def language_units(tokenizer: PreTrainedTokenizerBase) -> dict[str, int]:
    """Return the subword of each language code of a tokenizer; empty if its model is bilingual."""
    own: Any = tokenizer
    if not hasattr(own, "src_lang"):
        return {}
    if code_ids := getattr(own, "lang_code_to_id", None):
        return {str(code): int(subword) for code, subword in code_ids.items()}
    named = {getattr(own, f"{name}_token") for name in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")}
    codes = [token for token in own.all_special_tokens if token not in named]
    return {code: int(own.convert_tokens_to_ids(code)) for code in codes}


def _tasks(config: Any) -> dict[tuple[str, str], str]:
    """Return the task prefixes of a T5 model by source and target language."""
    named = getattr(config, "task_specific_params", None) or {}
    matches = {name: _TASK.fullmatch(name) for name in named}
    return {(match[1], match[2]): str(named[name].get("prefix", "")) for name, match in matches.items() if match}


def _only_language(
    code: str | None, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, side: str
) -> str | None:
    """Return the source or target language of a bilingual model; the given one if the model names none."""
    name = f"{side}_lang"
    known = getattr(model.config, name, None) or getattr(tokenizer, name, None)
    return _checked_code(code, [str(known)], side) if are_different(code, known) else known or code


def _checked_code(code: str | None, known: Iterable[str], side: str) -> str:
    """Return the model's code of a language; another spelling is accepted if it matches one code only.

    So `fr` and `fr_XX` are `fra_Latn`. The error lists the codes that the model knows.
    """
    known = list(dict.fromkeys(known))
    if code is not None and code in known:
        return code
    same = [item for item in known if code and (is_language(code, item) or is_language(item, code))]
    if len(same) == 1:
        return same[0]
    what = f"the model does not know the {side} language `{code}`" if code else "the model knows several languages"
    raise UsageError(what, remedy=f"give --model-{side}-lang, one of {', '.join(known)}")


# ----- texts to subwords


def encode_sources(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], *, truncation: bool = False
) -> list[list[int]]:
    """Tokenize source texts with the model's prefix; a blank text has no tokens.

    `truncation` cuts texts that are longer than the model reads.
    """
    if not texts:
        return []
    prefix = getattr(model.config, "prefix", None) or ""
    limit = source_limit(model, tokenizer)
    options: dict[str, Any] = {"truncation": True, "max_length": limit} if truncation and limit else {}
    with_nothing = len(tokenizer([prefix])["input_ids"][0])
    encoded = tokenizer([prefix + text for text in texts], verbose=False, **options)["input_ids"]
    return [
        [] if is_blank(text) or len(ids) <= with_nothing else list(ids)
        for text, ids in zip(texts, encoded, strict=True)
    ]


def source_limit(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int | None:
    """Return how many tokens a model reads, special ones included; None for any number."""
    limits = [tokenizer.model_max_length, positions(model)]
    return min((limit for limit in limits if limit and limit < 1 << 40), default=None)


def target_limit(model: PreTrainedModel) -> int | None:
    """Return how many subwords a model can write after the start, by its positions and its generation config."""
    limits = [positions(model)]
    if not isinstance(model, RnnSearchForConditionalGeneration):
        settings: Any = model.generation_config
        limits.append(settings.max_length)
    known = [limit - len(decoder_prefix_ids(model)) for limit in limits if limit]
    return max(1, min(known)) if known else None


def positions(model: PreTrainedModel) -> int | None:
    """Return how many positions a side of the model has; None for any number."""
    value = getattr(model.config, "max_position_embeddings", None)
    return value if isinstance(value, int) and value > 0 else None


def decoder_prefix_ids(model: PreTrainedModel) -> list[int]:
    """Return the tokens that begin every translation: the start, and the language of some models."""
    settings: Any = model.generation_config
    start, forced = _start_unit(model), settings.forced_bos_token_id
    assert start is not None
    return [start] if forced is None else [start, int(forced)]


def eos_token_ids(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Return the subwords that end a translation."""
    settings: Any = model.generation_config
    ends = tokenizer.eos_token_id if settings.eos_token_id is None else settings.eos_token_id
    return ends if isinstance(ends, list) else [ends]


def padded(rows: Sequence[Sequence[int]], value: int) -> torch.Tensor:
    """Pad rows of subwords on the right to the longest, (rows, length)."""
    filled = np.full((len(rows), max(map(len, rows))), value, dtype=np.int64)
    for index, row in enumerate(rows):
        filled[index, : len(row)] = row
    return torch.from_numpy(filled)
