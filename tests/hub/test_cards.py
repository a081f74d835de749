from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import jinja2
import pytest
from huggingface_hub import DatasetCard, ModelCard

from hf_paraphrase.commands.prepare_source import SourceCard, front_matter
from hf_paraphrase.errors import HfParaphraseError
from hf_paraphrase.hub.cards import render_card, template_path, write_card
from hf_paraphrase.metrics import METRICS
from hf_paraphrase.models.rnn_search import RnnSearchConfig

ROOT = Path(__file__).resolve().parents[2]
SPLITS = [{"name": "train", "num_bytes": 10, "num_examples": 2, "rows": 2}]
TITLE = 'A "title": with # signs'
DATA = {
    "title": TITLE,
    "license": "cc-by-2.0",
    "splits": SPLITS,
    "files": ["a.txt"],
    "checked": ["STS16"],
    "contamination": {"STS16": 3},
}
# `no` is Norwegian, and false in YAML unless it is quoted.
VALUES = {
    ("dataset_cards", "back_translated"): {
        "license": ["cc-by-2.0"],
        "name": TITLE,
        "settings": {
            "bitext": "bitext",
            "split": "train",
            "model": "model",
            "num_beams": 5,
            "num_return_sequences": 5,
            "length_penalty": 1.0,
        },
        "results": {"sentences": 2, "pairs": 2, "skipped_sentences": 0, "model_results": {"dev_bleu": 51.25}},
        "tested": [("model", "| BLEU |\n|---|\n| 50.1 |\n")],
        "splits": SPLITS,
        "columns": [{"name": "rank", "dtype": "int32"}],
        "examples": [{"sentence1": "a | b", "sentence2": "c"}],
        "source_lang": "no",
    },
    ("dataset_cards", "bitext"): {
        **DATA,
        "source_lang": "no",
        "target_lang": "en",
        "columns": ["id", "source"],
        "rules": {"train": ({"lines": 3, "kept": 2}, [("empty_side", 1, 2)])},
        "unit": "lines",
        "skipped": True,
        "ngrams": 8,
        "share": 0.7,
        "punctuation": True,
        "drawn": ["validation"],
        "seed": 0,
    },
    ("dataset_cards", "comparable"): {
        **DATA,
        "source_lang": "no",
        "target_lang": "en",
        "parts": {"test": {"sentences": 9, "gold": 3, "near_duplicates_left_out": 1}},
        "near_duplicate": 0.9,
        "words": (4, 60),
        "counts": {"rows": 30, "groups": 20, "groups_that_fit": 15, "train": 8, "validation": 2},
        "seed": 0,
    },
    ("dataset_cards", "pairs"): {
        **DATA,
        "lang": "no",
        "columns": [{"name": "sentence1", "dtype": "string"}, {"name": "score", "dtype": "float64"}],
        "command": "prepare pairs",
        "rules": {"lines": 3, "kept": 2},
    },
    ("dataset_cards", "filtered"): {
        **DATA,
        "language": ["no", "en"],
        "license": ["cc-by-2.0"],
        "source": "pairs",
        "split": "train",
        "rows": 2,
        "columns": ["sentence1"],
        "seed": 0,
        "funnel": "| a | b |",
        "ngrams": 8,
        "share": 0.7,
    },
    ("dataset_cards", "scored"): {
        **DATA,
        "language": ["no", "en"],
        "license": ["cc-by-2.0"],
        "source": "pairs",
        "measures": [{"columns": ["overlap_1"], "text": "overlap"}],
        "language_model": {"tokens": 90, "sentences": 9, "words": 30, "fallback_discounts": [1, 3]},
        "held_out": 9,
    },
    ("dataset_cards", "search_index"): {
        "language": ["no", "en"],
        "license": ["cc-by-2.0"],
        "title": TITLE,
        "source": "corpus",
        "columns": ["sentence1"],
        "encoder": "avg",
        "keep_repeated": False,
        "splits": SPLITS,
        "rows": 2,
        "dimension": 3,
        "zero_rows": 0,
        "lists": 4,
        "probes": 2,
        "recall": 0.95,
        "read": 3,
        "empty": 1,
        "repeated": 0,
    },
    ("dataset_cards", "mined"): {
        "language": ["no", "en"],
        "license": ["cc-by-2.0"],
        "title": TITLE,
        "source": "index",
        "threshold": 0.8,
        "approximate": True,
        "keep_identical": False,
        "splits": SPLITS,
        "pairs": 2,
        "found": 3,
        "sentences": 5,
    },
    ("model_cards", "rnn_search"): {
        "name": "model",
        "config": RnnSearchConfig(source_lang="no", target_lang="en", lowercase=True),
        "settings": {
            "bitext": "bitext",
            "epochs": 2.0,
            "batch_size": 80,
            "learning_rate": 0.001,
            "dropout": 0.3,
            "word_dropout": 0.1,
            "label_smoothing": 0.1,
        },
        "results": {"training_pairs": 29_000, "dev_bleu": 51.254, "best_epoch": 1.9},
    },
    ("model_cards", "reference_classifier"): {
        "languages": ["no"],
        "name": TITLE,
        "body": "avg",
        "table": "| a | table |\n",
        "best_epoch": 1.0,
        "epochs": [{"epoch": 1.0, "accuracy": 60.0}, {"epoch": 2.0, "accuracy": 59.0}],
        "pairs_name": "pairs",
        "references": {"train": 8_000, "dev": 1_000, "test": 1_000},
        "translations": {"train": 9_000, "dev": 1_000, "test": 1_000},
        "train_size": 40_000,
        "dev_size": 5_000,
        "test_size": 5_000,
        "share_of_sizes": 0.2,
        "references_mined": 10,
        "mined_names": ["mined"],
        "references_without_translation": 3,
        "negatives": "random",
        "vocabulary": 500,
        "config": {"embedding_size": 300},
        "vectors_name": "random",
        "parameters": 150_000,
        "learning_rate": 0.001,
        "batch_size": 100,
        "embedding_penalty": 1e-6,
        "dropout": 0.0,
        "seed": 0,
        "seen_file": "references.tsv",
        "lower_case": True,
    },
    ("model_cards", "parallel_bigru"): {
        "languages": ["no", "en"],
        "name": TITLE,
        "config": {
            "source_lang": "no",
            "target_lang": "en",
            "source_vocab_size": 100,
            "target_vocab_size": 90,
            "embedding_size": 300,
            "hidden_size": 200,
        },
        "share_rnn": True,
        "score_layer": "bilinear",
        "dev": {"best_f1": 90.0},
        "pairs": {"train": 9_000, "validation": 1_000},
        "negatives": 5,
        "epochs": [
            {
                "epoch": 1.0,
                "loss": 0.1,
                "precision": 90.0,
                "recall": 80.0,
                "f1": 84.7,
                "best_f1": 90.0,
                "threshold": 0.9,
            }
        ],
        "best_epoch": 1.0,
        "epochs_asked": 1,
        "bitext_name": "bitext",
        "pairs_dropped": 3,
        "hard_negatives": 0.8,
        "n_best": 40,
        "encoder_names": ["source", "target"],
        "vectors_name": "random",
        "parameters": 150_000,
        "lower_case": True,
        "digits": "zero",
        "learning_rate": 2e-4,
        "batch_size": 128,
        "max_grad_norm": 5.0,
        "dropout": 0.0,
        "seed": 0,
    },
    ("model_cards", "bilingual_vectors"): {
        "languages": ["no", "en"],
        "name": TITLE,
        "part": "source",
        "source_lang": "no",
        "target_lang": "en",
        "retrieval": {"pairs": 2_000},
        "epochs": [{"epoch": 1, "source_to_target": 70.0, "target_to_source": 71.0, "mean": 70.5}],
        "epochs_asked": 1,
        "bitext_name": "bitext",
        "pairs": 9_000,
        "vocabulary": {"source": 100, "target": 90},
        "words": {"source": 10_000, "target": 9_000},
        "dimension": 300,
        "lower_case": True,
        "digits": "remove",
        "min_frequency": 2,
        "window": 5,
        "negatives": 5,
        "subsampling": 1e-4,
        "aligned_weight": 1.0,
        "learning_rate": 5e-3,
        "batch_size": 256,
        "seed": 0,
    },
    ("model_cards", "tokenizer"): {
        "languages": ["no"],
        "title": TITLE,
        "description": "one token a word",
        "name": "tokenizer",
        "sentences": "1,000",
        "sources": "text.txt",
        "vocabulary": 500,
        "lower_case": True,
        "kind": "word",
        "split_contractions": True,
        "tokens_per_sentence": 7.5,
        "measured": 1000,
        "unknown_share": 0.01,
    },
    ("model_cards", "sentence_classifier"): {
        "languages": ["no"],
        "name": TITLE,
        "description": "classifies sentences",
        "encoder_name": "gran",
        "encoder_type": "gran",
        "data_name": "sick",
        "objective": "classification",
        "pairs": True,
        "ordered": False,
        "head_hidden_size": 50,
        "class_names": ["a", "b"],
        "lowest_score": 1,
        "highest_score": 5,
        "table": "| a | table |\n",
        "has_test": True,
        "epochs": [{"epoch": 1.0, "criterion": 60.0}, {"epoch": 2.0, "criterion": 59.0}],
        "best_epoch": 1.0,
        "column": "label",
        "parts": {"train": "train", "dev": "10% of train, drawn"},
        "rows": {"train": 4_000, "dev": 500},
        "training_rows_left_out": 3,
        "start": "the pretrained encoder's",
        "freeze_encoder": False,
        "from_scratch": False,
        "lambda_w": 0.1,
        "lambda_c": 0.1,
        "lambda_head": 0.0,
        "dropout": 0.0,
        "learning_rate": 0.001,
        "batch_size": 25,
        "parameters": 150_000,
        "tokens_in_use": 2_000,
        "seed": 0,
    },
    ("model_cards", "exported_encoder"): {
        "metadata": "language:\n- 'no'",
        "library_name": "onnx",
        "model_type": "concatenation",
        "format": "onnx",
        "weights": "int8",
        "title": TITLE,
        "name": "model",
        "source": "source",
        "hidden_size": 300,
        "vocab_sizes": [10, 20],
        "opset": 17,
        "megabytes": 1.0,
        "source_megabytes": 4.0,
        "largest_difference": 1e-7,
        "checked": 30,
        "lowest_cosine": 0.9999,
        "has_source_provenance": True,
        "source_text": "### Training",
    },
    ("model_cards", "encoder"): {
        "languages": ["no"],
        "library_name": "transformers",
        "model_type": "gran",
        "kind": "gran",
        "token_size": 300,
        "skip_unknown": False,
        "cell": "lstm",
        "title": TITLE,
        "hidden_size": 300,
        "name": "model",
        "pairs": 10,
        "pairs_name": "pairs",
        "dropped": 0,
        "vocab_size": 5,
        "parameters": 1_500,
        "initial_vectors": "random",
        "loss": "margin loss",
        "loss_source": "a paper",
        "searches_negatives": True,
        "margin": 0.4,
        "negatives": "max",
        "negatives_from": "both",
        "mega_batch_size": 20,
        "mega_batch_anneal": 150,
        "optimizer": "Adam",
        "learning_rate": 0.001,
        "batch_size": 100,
        "epochs": 2,
        "dropout": 0.0,
        "word_dropout": 0.0,
        "scramble": 0.0,
        "seed": 0,
        "expansion": "0.25 of the pairs",
        "scores": [{"step": 0, "epoch": 0.0, "dev_mean": 40.0}, {"step": 9, "epoch": 1.0, "dev_mean": 50.0}],
        "kept_step": 9,
    },
    ("model_cards", "sdae"): {
        "languages": ["no"],
        "library_name": "transformers",
        "model_type": "sdae",
        "title": TITLE,
        "hidden_size": 300,
        "name": "model",
        "expansion_use": "regulariser",
        "expansion_share": 0.3,
        "expansion_name": "dict",
        "expansion_weight": 0.1,
        "has_decoder": True,
        "sentences": 10_000,
        "text_names": "captions.txt",
        "left_out": "none",
        "noise": "delete",
        "drop": 0.1,
        "swap": 0.1,
        "vocab_size": 5,
        "embedding_size": 100,
        "vectors_name": "random",
        "parameters": 1_500,
        "trained_parameters": 1_500,
        "learning_rate": 0.0002,
        "max_grad_norm": 2.0,
        "max_steps": 1_000,
        "batch_size": 16,
        "epochs": 1.6,
        "bf16": False,
        "seed": 0,
        "scores": [{"step": 10, "loss": 4.5, "expansion_distance": 0.1}],
    },
    ("dataset_cards", "expanded"): {
        "language": ["no", "en"],
        "license": ["cc-by-2.0"],
        "title": TITLE,
        "source": "pairs",
        "splits": {"train": 10},
        "settings": {"share": 0.3, "seed": 0, "epoch": 0, "senses": "first"},
        "counts": {
            "sentences": 20,
            "changed": 10,
            "unexpandable": 5,
            "foreign": 5,
            "expanded": 12,
            "expandable": 40,
        },
        "checked": ["sts"],
    },
}
# The cards of sources of raw data share a header and a frame; `source` is that frame.
SOURCE_COLUMNS = {"bucc": "source", "transfer": "text"} | dict.fromkeys(
    ["msrp", "opusparcus", "pit2015", "ppdb", "sick", "simpwiki", "source", "sts", "stsbenchmark", "turku"],
    "sentence1",
)
for template, column in SOURCE_COLUMNS.items():
    configuration = {
        "name": "default",
        "columns": [column],
        "features": [{"name": column, "dtype": "string"}],
        "splits": [SPLITS[0] | {"path": "data/train-*"}],
    }
    VALUES["dataset_cards", template] = {
        **DATA,
        "front_matter": front_matter(SourceCard(template, TITLE, "cc-by-2.0", ("no", "en")), [configuration]),
        "configurations": [configuration],
        "command": f"prepare {template}",
        "example": '{"a": "b"}',
        "counts": {"train": {"lines": 3, "rows": 2}},
        "negatives": {"train": 2},
        "missing": ["test"],
        "skipped": True,
        "ngrams": 8,
        "share": 0.7,
    } | ({"fields": {column: "a text"}} if template == "source" else {})
REPORTS = {
    ("dataset_cards", name)
    for name in (
        "analysis",
        "analysis_gates",
        "analysis_human_scores",
        "analysis_neighbours",
        "analysis_similarities",
        "mining_report",
        "tuning",
    )
}
"""Reports that lie beside data but are no cards; tests of `analyze`, `tune` and `evaluate-mining` render them."""
DATA_PATHS = {"comparable": "bitext/data/train-*"}
"""Where the data of a folder are that are not at its top."""
TEMPLATES = sorted(
    {(kind, path.stem) for kind in ("dataset_cards", "model_cards") for path in (ROOT / kind).glob("*.md")} - REPORTS
)


@pytest.mark.parametrize(("kind", "name"), TEMPLATES)
def test_every_template_renders_and_the_hub_can_read_its_front_matter(kind, name):
    text = render_card(kind, name, VALUES[kind, name])
    card = (DatasetCard if kind == "dataset_cards" else ModelCard)(text)
    languages = card.data.to_dict()["language"]
    assert set(languages) <= {"no", "en"} and "no" in languages
    assert "{{" not in text and "{%" not in text and "# " in card.text
    if kind == "dataset_cards":
        assert card.data.configs[0]["default"] is True
        assert card.data.configs[0]["data_files"][0] == {
            "split": "train",
            "path": DATA_PATHS.get(name, "data/train-*"),
        }


@pytest.mark.parametrize(("kind", "name"), TEMPLATES)
def test_a_value_that_is_missing_is_an_error_and_never_an_empty_place(kind, name):
    for missing in VALUES[kind, name]:
        values = {key: value for key, value in VALUES[kind, name].items() if key != missing}
        uses = re.search(rf"\b{missing}\b", template_path(kind, name).read_text())
        if uses is None:
            continue
        try:
            text = render_card(kind, name, values)
        except (jinja2.UndefinedError, TypeError):  # the latter from a filter
            continue
        # It may stand in a branch that was not taken.
        assert text == render_card(kind, name, VALUES[kind, name])


def test_examples_cannot_break_the_table_of_the_card():
    text = render_card("dataset_cards", "back_translated", VALUES["dataset_cards", "back_translated"])
    assert "| a \\| b | c |" in text


def test_an_unknown_template_is_an_error():
    with pytest.raises(HfParaphraseError, match=r"no card template model_cards/none\.md"):
        template_path("model_cards", "none")


def test_a_card_ends_in_one_line_break(tmp_path):
    path = write_card(tmp_path, "model_cards", "rnn_search", VALUES["model_cards", "rnn_search"])
    assert path == tmp_path / "README.md"
    assert path.read_text().endswith("\n```\n") and list(tmp_path.iterdir()) == [path]


def test_the_templates_are_in_a_built_wheel(tmp_path):
    source = tmp_path / "source"
    wanted = (
        "hf_paraphrase",
        "model_cards",
        "dataset_cards",
        "setup.py",
        "setup.cfg",
        "pyproject.toml",
        "README.md",
        "LICENSE",
    )
    source.mkdir()
    for name in wanted:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source / name)
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(tmp_path / "dist"),
        str(source),
    ]
    pytest.importorskip("setuptools", minversion="77")
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    for kind, name in TEMPLATES:
        assert (tmp_path / "installed" / "hf_paraphrase" / "hub" / kind / f"{name}.md").is_file()
    for name in METRICS:
        folder = tmp_path / "installed" / "hf_paraphrase" / "metrics" / name
        names = {path.name for path in folder.iterdir()}
        assert names == {"README.md", "__init__.py", "app.py", "requirements.txt", f"{name}.py"}
    script = "from hf_paraphrase.hub.cards import template_path as t; print(t('model_cards', 'rnn_search'))"
    found = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path / "installed", capture_output=True, text=True, check=True
    )
    assert Path(found.stdout.strip()) == tmp_path / "installed/hf_paraphrase/hub/model_cards/rnn_search.md"
