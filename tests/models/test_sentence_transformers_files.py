from __future__ import annotations

import json

import pytest

from hf_paraphrase.models.registry import SENTENCE_ENCODERS
from hf_paraphrase.models.sentence_transformers_files import needs_own_code, write_module_files


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_an_average_is_a_table_that_needs_no_code(tmp_path):
    write_module_files(tmp_path, "avg", 7)
    assert not needs_own_code("avg")
    (module,) = read(tmp_path / "modules.json")
    assert module == {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"}
    assert {path.name for path in tmp_path.iterdir()} == {"modules.json", "config_sentence_transformers.json"}


@pytest.mark.parametrize("model_type", sorted(set(SENTENCE_ENCODERS) - {"avg"}))
def test_every_other_encoder_is_what_auto_model_opens_and_the_mean_over_its_tokens(tmp_path, model_type):
    write_module_files(tmp_path, model_type, 7)
    assert needs_own_code(model_type)
    transformer, pooling = read(tmp_path / "modules.json")
    assert (transformer["path"], pooling["path"]) == ("", "1_Pooling")
    assert transformer["type"] == "sentence_transformers.models.Transformer"
    assert pooling["type"] == "sentence_transformers.models.Pooling"
    settings = read(tmp_path / "1_Pooling" / "config.json")
    assert settings.pop("word_embedding_dimension") == 7
    assert [name for name, chosen in settings.items() if chosen] == ["pooling_mode_mean_tokens"]
    settings = read(tmp_path / "config_sentence_transformers.json")
    assert settings == {"prompts": {}, "default_prompt_name": None, "similarity_fn_name": "cosine"}
    # Nothing is cut off, and nothing is lower-cased behind the tokenizer's back.
    assert read(tmp_path / "sentence_bert_config.json") == {"max_seq_length": None, "do_lower_case": False}
