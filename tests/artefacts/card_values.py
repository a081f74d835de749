"""For each template of a card the values of one artefact, with awkward ones among them."""

from __future__ import annotations

from pathlib import Path

from model_card_values import MODELS, TITLE

from hf_paraphrase.data.sources.card_values import front_matter
from hf_paraphrase.data.sources.source import Source

ROOT = Path(__file__).resolve().parents[2]
SPLITS = [{"name": "train", "num_bytes": 10, "num_examples": 2, "rows": 2}]
DATA = {
    "title": TITLE,
    "license": "cc-by-2.0",
    "splits": SPLITS,
    "files": ["a.txt"],
    "checked": ["STS16"],
    "contamination": {"STS16": 3},
}
DATA_SETS = {
    "back_translated": {
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
        "results": {
            "sentences": 2,
            "pairs": 2,
            "skipped_sentences": 0,
            "lower_case": True,
            "model_results": {"dev_bleu": 51.25},
        },
        "several": True,
        "tested": [("model", "| BLEU |\n|---|\n| 50.1 |\n")],
        "splits": SPLITS,
        "columns": [{"name": "rank", "dtype": "int32"}],
        "examples": [{"sentence1": "a | b", "sentence2": "c"}],
        "source_lang": "no",
    },
    "bitext": {
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
    "comparable": {
        **DATA,
        "source_lang": "no",
        "target_lang": "en",
        "parts": {"test": {"sentences": 9, "gold": 3, "near_duplicates_left_out": 1}},
        "near_duplicate": 0.9,
        "words": (4, 60),
        "counts": {"rows": 30, "groups": 20, "groups_that_fit": 15, "train": 8, "validation": 2},
        "seed": 0,
    },
    "pairs": {
        **DATA,
        "lang": "no",
        "columns": [{"name": "sentence1", "dtype": "string"}, {"name": "score", "dtype": "float64"}],
        "command": "prepare pairs",
        "rules": {"lines": 3, "kept": 2},
    },
    "filtered": {
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
    "kept": {"title": TITLE, "rows": 2, "models": ["nmt"], "language": ["en", "no"]},
    "scored": {
        **DATA,
        "language": ["no", "en"],
        "license": ["cc-by-2.0"],
        "source": "pairs",
        "measures": [{"columns": ["overlap_1"], "text": "overlap"}],
        "language_model": {"tokens": 90, "sentences": 9, "words": 30, "fallback_discounts": [1, 3]},
        "held_out": 9,
    },
    "embedded": {
        **DATA,
        "language": ["no", "en"],
        "license": ["cc-by-2.0"],
        "title": TITLE,
        "source": "pairs",
        "columns": ["sentence1"],
        "model": "avg",
        "normalized": True,
        "dimension": 3,
        "empty": 2,
    },
    "search_index": {
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
    "mined": {
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
    "expanded": {
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


class TitledSource(Source):
    """A source with an awkward title."""

    TITLE = TITLE
    LICENSE = "cc-by-2.0"
    LANGUAGES = ("no", "en")


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
    DATA_SETS[template] = {
        **DATA,
        "front_matter": front_matter(TitledSource(), [configuration]),
        "configurations": [configuration],
        "command": f"prepare {template}",
        "example": '{"a": "b"}',
        "counts": {"train": {"lines": 3, "rows": 2}},
        "negatives": {"train": 2},
        "missing": ["test"],
        "skipped": True,
        "ngrams": 8,
        "share": 0.7,
        "description": "Texts.",
        "citation": "",
        "fields": {column: "a text"},
    }

VALUES = {("model_cards", name): values for name, values in MODELS.items()}
VALUES |= {("dataset_cards", name): values for name, values in DATA_SETS.items()}
