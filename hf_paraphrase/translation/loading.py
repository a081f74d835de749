"""Opens translation models: RNNsearch, and any `AutoModelForSeq2SeqLM` with its languages and task prefix.

The languages are set where transformers reads them, in `tokenizer.src_lang`, `tgt_lang` and the forced first token,
and a task prefix in `config.prefix`. `config.source_lang` and `target_lang` name the languages of every model.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

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
    """Open a model by its folder or its name on the Hub, in fp32, by default on a GPU if available.

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
    settings.decoder_start_token_id = _start_token_id(model)
    settings.pad_token_id = tokenizer.pad_token_id
    if settings.eos_token_id is None:
        settings.eos_token_id = tokenizer.eos_token_id
    if None in (settings.decoder_start_token_id, settings.pad_token_id, settings.eos_token_id):
        remedy = "save the model and its tokenizer again"
        raise ModelError("the translation model has no start, padding or end token", path=folder, remedy=remedy)
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


def _start_token_id(model: PreTrainedModel) -> int | None:
    configs, names = (model.generation_config, model.config), ("decoder_start_token_id", "bos_token_id")
    ids = (getattr(config, name, None) for config in configs for name in names)
    return next((int(token_id) for token_id in ids if token_id is not None), None)


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
    # A folder from train-nmt names its languages.
    source = source_lang or getattr(config, "source_lang", None)
    target = target_lang or getattr(config, "target_lang", None)
    if codes := language_token_ids(tokenizer):
        source, target = _set_language_codes(model, tokenizer, codes, source, target)
    elif tokens := getattr(tokenizer, "supported_language_codes", None):
        # In a multilingual Marian model a token before the source names the target language.
        source = source_lang or own.source_lang
        if task_prefix is None:
            prefixes = {token.strip("><"): f"{token} " for token in tokens}
            task_prefix = prefixes[_resolve_code(target, prefixes, "target")]
    elif tasks := _task_prefixes(config):
        if task_prefix is None:
            source = _resolve_code(source, [code for code, _ in tasks], "source")
            targets = [code for other, code in tasks if other == source]
            task_prefix = tasks[source, _resolve_code(target, targets, "target")]
    else:
        source = _bilingual_code(source_lang, model, tokenizer, "source")
        target = _bilingual_code(target_lang, model, tokenizer, "target")
        task_prefix = task_prefix if task_prefix is not None else getattr(config, "prefix", None)
    config.source_lang, config.target_lang, config.prefix = source, target, task_prefix


def _set_language_codes(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    codes: dict[str, int],
    source_lang: str | None,
    target_lang: str | None,
) -> tuple[str, str]:
    """Set the languages of an mBART, M2M-100 or NLLB model, whose decoder reads a language code first."""
    own: Any = tokenizer
    settings: Any = model.generation_config
    start = settings.decoder_start_token_id
    source = _resolve_code(source_lang or own.init_kwargs.get("src_lang"), codes, "source")
    target_lang = target_lang or own.init_kwargs.get("tgt_lang")
    if not target_lang:
        forced = {settings.forced_bos_token_id, start}
        target_lang = next((code for code, token_id in codes.items() if token_id in forced), None)
    target = _resolve_code(target_lang, codes, "target")
    own.src_lang, own.tgt_lang = source, target
    start = getattr(model.config, "decoder_start_token_id", None) if start is None else start
    # The code is the start of the decoder in some models, and follows the start in others.
    is_start = start is None or start in codes.values()
    setattr(settings, "decoder_start_token_id" if is_start else "forced_bos_token_id", codes[target])
    return source, target


def language_token_ids(tokenizer: PreTrainedTokenizerBase) -> dict[str, int]:
    """Return the token id of each language code of a tokenizer; empty if its model is bilingual."""
    own: Any = tokenizer
    if not hasattr(own, "src_lang"):
        return {}
    if code_ids := getattr(own, "lang_code_to_id", None):
        return {str(code): int(token_id) for code, token_id in code_ids.items()}
    others = {getattr(own, f"{name}_token") for name in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")}
    codes = [token for token in own.all_special_tokens if token not in others]
    return {code: int(own.convert_tokens_to_ids(code)) for code in codes}


def _task_prefixes(config: Any) -> dict[tuple[str, str], str]:
    """Return the task prefixes of a T5 model by source and target language."""
    tasks = getattr(config, "task_specific_params", None) or {}
    matches = {name: _TASK.fullmatch(name) for name in tasks}
    return {(match[1], match[2]): str(tasks[name].get("prefix", "")) for name, match in matches.items() if match}


def _bilingual_code(
    code: str | None, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, side: str
) -> str | None:
    """Return the source or target language of a bilingual model, or `code` if the model names none."""
    name = f"{side}_lang"
    own = getattr(model.config, name, None) or getattr(tokenizer, name, None)
    return _resolve_code(code, [str(own)], side) if are_different(code, own) else own or code


def _resolve_code(code: str | None, codes: Iterable[str], side: str) -> str:
    """Return the model's code of a language from another unambiguous spelling: `fr` and `fr_XX` are `fra_Latn`."""
    codes = list(dict.fromkeys(codes))
    if code is not None and code in codes:
        return code
    same = [own for own in codes if code and (is_language(code, own) or is_language(own, code))]
    if len(same) == 1:
        return same[0]
    what = f"the model does not know the {side} language `{code}`" if code else "the model knows several languages"
    remedy = f"give --model-{side}-lang, one of {', '.join(codes)}"
    if len(codes) == 1:
        remedy = f"give a model for `{code}`, or --model-{side}-lang {codes[0]} if the text is in that language"
    raise UsageError(what, remedy=remedy)


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
    prefix_length = len(tokenizer([prefix])["input_ids"][0])
    encoded = tokenizer([prefix + text for text in texts], verbose=False, **options)["input_ids"]
    return [
        [] if is_blank(text) or len(ids) <= prefix_length else list(ids)
        for text, ids in zip(texts, encoded, strict=True)
    ]


def source_limit(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int | None:
    """Return the maximum number of source tokens, with special tokens; None for no limit."""
    limits = [tokenizer.model_max_length, positions(model)]
    return min((limit for limit in limits if limit and limit < 1 << 40), default=None)


def target_limit(model: PreTrainedModel) -> int | None:
    """Return the maximum number of subwords after the start; None for no limit."""
    limits = [positions(model)]
    if not isinstance(model, RnnSearchForConditionalGeneration):
        limits.append(model.generation_config.max_length)
    limit = min(filter(None, limits), default=None)
    return None if limit is None else max(1, limit - len(decoder_prefix_ids(model)))


def positions(model: PreTrainedModel) -> int | None:
    """Return the number of positions of encoder and decoder; None for no limit."""
    value = getattr(model.config, "max_position_embeddings", None)
    return value if isinstance(value, int) and value > 0 else None


def decoder_prefix_ids(model: PreTrainedModel) -> list[int]:
    """Return the tokens that begin every translation: the start, and in some models the language."""
    settings: Any = model.generation_config
    start, forced = _start_token_id(model), settings.forced_bos_token_id
    assert start is not None
    return [start] if forced is None else [start, int(forced)]


def eos_token_ids(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Return the subwords that end a translation."""
    settings: Any = model.generation_config
    ends = tokenizer.eos_token_id if settings.eos_token_id is None else settings.eos_token_id
    return ends if isinstance(ends, list) else [ends]
