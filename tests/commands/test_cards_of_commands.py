"""The cards that the commands write: their code runs, their heads say what was measured, and nothing else."""

from __future__ import annotations

import json
import re
import shutil

import datasets
import pytest
from huggingface_hub import DatasetCard, ModelCard

from hf_paraphrase.artefacts.provenance import read_provenance
from hf_paraphrase.hub.pushed_files import adapt_card

URL = "https://huggingface.co/datasets/org/numbers"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOKENIZERS = ["words", "tokenizer", "morfessor"]
ENCODERS = ["avg", "gran", "word_trigram", "student", "join", "sdae"]
MODELS = [*ENCODERS, *TOKENIZERS, "nmt", "classifier", "parallel", "vectors"]
FROM_BACK_TRANSLATION = ["bt", "score", "filter"]
DATA = [*FROM_BACK_TRANSLATION, "bitext", "labelled", "msrp"]
"""A folder of each template, and of each part of one that only some have."""


@pytest.mark.parametrize("name", [*MODELS, *DATA])
def test_a_card_is_tidy_its_code_runs_and_on_the_hub_it_opens_the_repository(artefacts, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    card = (shutil.copytree(artefacts[name], tmp_path / name) / "README.md").read_text()
    assert "{{" not in card and "{%" not in card and card.endswith("\n") and card[-2] != "\n"
    assert not re.search(r"[^\n]\n## |\n## .*\n[^\n]", card)  # a heading stands by itself
    # An example with a transformers class of the folder's own code says which version it needs.
    assert card.count("transformers.AutoModel.from_pretrained(") <= card.count("transformers 5")
    published = adapt_card(card, [name], "ann/best")
    for call in ("from_pretrained(", "SentenceTransformer(", "load_dataset("):
        assert f'{call}"{name}' not in published and f'{call}"path/to' not in published
    assert name in DATA or "ann/best" in published
    blocks = BLOCK.findall(card)
    assert {kind for kind, _ in blocks} <= {"python", "json", "bibtex"}
    code = [text for kind, text in blocks if kind == "python"]
    assert code
    for text in code:
        # The card of a data folder does not know where the folder will be.
        exec(compile(text.replace("path/to/this/folder", name), f"{name}/README.md", "exec"), {})
    assert all(json.loads(text) for kind, text in blocks if kind == "json")


def recorded_results(name, results):
    """What the record has of the results in the head of the card."""
    if name == "nmt":
        return {results["dev_bleu"]}
    if name == "classifier":
        return {results["test"]["accuracy"], results["dev"]["accuracy"]}
    return {results["dev"]["best_f1"]} if name == "parallel" else {results["dev_best"]} if name == "avg" else set()


@pytest.mark.parametrize("name", MODELS)
def test_a_models_card_says_everything_and_the_hubs_library_reads_it(artefacts, name):
    card = ModelCard.load(artefacts[name] / "README.md")
    data = card.data.to_dict()
    assert data["license"] == {"avg": "cc-by-2.0", "morfessor": "mit"}.get(name, "unknown")
    assert data["library_name"] and len(data["tags"]) >= 2
    assert ("pipeline_tag" in data) == (name not in TOKENIZERS)
    for heading in ("## Limits", "## Licence", "## Training data"):
        assert card.text.count(f"\n{heading}\n") == 1, heading
    assert ("## Citation" in card.text) == (name != "words")
    if name in ("nmt", "parallel", "vectors"):
        assert data["language"] == ["fr", "en"] and data["datasets"] == ["org/numbers"]
        assert f"`bitext` (`hf-paraphrase prepare bitext`; licence: cc-by-2.0; language: fr, en; <{URL}>)" in card.text
    results = recorded_results(name, read_provenance(artefacts[name])["results"])
    assert {item.metric_value for item in card.data.eval_results or []} == results
    assert ("model-index" in card.content) == bool(results)


@pytest.mark.parametrize("name", DATA)
def test_a_data_sets_card_says_where_it_comes_from(artefacts, name):
    card = DatasetCard.load(artefacts[name] / "README.md")
    licences = {"labelled": None, "msrp": None, "bitext": "cc-by-2.0"}
    assert card.data.to_dict().get("license") == licences.get(name, ["cc-by-2.0"])
    assert "## Licence" in card.text
    if name in FROM_BACK_TRANSLATION:
        assert card.data.to_dict()["source_datasets"] == ["org/numbers"]
        assert f"<{URL}>" in card.text and ("`translator`" in card.text) == (name == "bt")
    if name == "bitext":
        assert f"The files come from <{URL}>." in card.text
    if name == "msrp":
        assert "```bibtex" in card.text and "<http" in card.text
