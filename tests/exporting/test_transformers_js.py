"""The recipe for transformers.js, run where Node and the package are: NODE_MODULES names its `node_modules`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from documented_blocks import blocks

from hf_paraphrase.artefacts.hub_models import BUILTIN_FOLDERS
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.exporting.run import export
from hf_paraphrase.tokenization.encoder_pieces import train_encoder_bpe
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer

RECIPES = Path(__file__).resolve().parents[2] / "docs" / "use" / "integrations.md"
TEXTS = [
    "The doctor bought a car.",
    "Der Hund schläft überall – déjà vu! 12,5 %",
    "Собака спит в саду.",
    "a_b c’est ½ वह दिन",
]


def test_no_tokenizer_splits_at_a_pattern_that_javascript_reads_in_another_way():
    trained = [train_encoder_bpe(TEXTS, 60).backend_tokenizer, train_bpe_tokenizer(TEXTS, 60).backend_tokenizer]
    shipped = (BUILTIN_FOLDERS["multilingual"] / "tokenizer.json").read_text("utf-8")
    for written in (shipped, *(tokenizer.to_str() for tokenizer in trained)):
        patterns = [
            part["pattern"]["Regex"]
            for part in json.loads(written)["pre_tokenizer"]["pretokenizers"]
            if "pattern" in part
        ]
        assert patterns and not any(
            shorthand in pattern for pattern in patterns for shorthand in (r"\w", r"\W", r"\d", r"\b")
        )


@pytest.mark.skipif("NODE_MODULES" not in os.environ, reason="NODE_MODULES names no folder with transformers.js")
def test_transformers_js_gives_the_vectors_of_python(tmp_path):
    export(model="multilingual", format="onnx", weights="int8", output=str(tmp_path / "multilingual_onnx"))
    (code,) = [code for language, code in blocks(RECIPES.read_text("utf-8")) if language == "js"]
    (tmp_path / "node_modules").symlink_to(os.environ["NODE_MODULES"])
    call = f"extractor({json.dumps(TEXTS)}, {{ pooling: 'mean', normalize: true }})"
    script = f"{code}\nconsole.log(JSON.stringify((await {call}).tolist()));"
    (tmp_path / "recipe.mjs").write_text(script, "utf-8")
    node = shutil.which("node")
    assert node is not None
    done = subprocess.run([node, "recipe.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
    printed = done.stdout.splitlines()
    expected = SentenceEncoder.from_pretrained("multilingual").encode(TEXTS, normalize=True)
    assert printed[0] == "[ 2, 256 ]"
    np.testing.assert_allclose(np.array(json.loads(printed[-1])), expected, atol=1e-5)
