"""The jobs over rows as what engines apply: the same function, on any batches, in any process."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

import hf_paraphrase
from hf_paraphrase import (
    BackTranslator,
    BeamSearchConfig,
    Decontaminator,
    Measures,
    PairFilter,
    PairScorer,
    Paraphraser,
    SentenceEmbedder,
)
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.filtering.language_model import train_language_model
from hf_paraphrase.registry import MEASURES

ROWS, BATCH = 24, 6


def same(one, other):
    """Tells whether tables are the same; NaN is NaN."""
    return one.schema == other.schema and repr(one.to_pydict()) == repr(other.to_pydict())


@pytest.fixture(scope="module")
def pairs(artefacts):
    rows = DataFolder(artefacts["pairs"]).table().slice(0, ROWS).select(["sentence1", "sentence2"])
    columns = {"source": rows.column("sentence2").to_pylist(), "log_prob": [-1.0 * row for row in range(ROWS)]}
    for name, values in {**columns, "num_tokens": list(range(1, ROWS + 1))}.items():
        rows = rows.append_column(name, pa.array(values))
    return rows


@pytest.fixture(scope="module")
def bitext(artefacts):
    return DataFolder(artefacts["bitext"]).table().slice(0, ROWS)


NAMES = ("BackTranslator", "Decontaminator", "PairFilter", "PairScorer", "SentenceEmbedder")


@pytest.fixture(scope="module")
def functions(artefacts, pairs, tmp_path_factory):
    sets, model = (str(tmp_path_factory.mktemp("given") / name) for name in ("set.txt", "model.arpa"))
    texts = pairs.column("sentence1").to_pylist()
    train_language_model([texts], model, source="text")
    # Some of the pairs have a sentence to evaluate on.
    Path(sets).write_text("".join(f"{text}\n" for text in texts[:9]), encoding="utf-8")
    encoder = str(artefacts["avg"])
    measures = Measures(encoder=encoder, classifier=str(artefacts["classifier"]), language_model=model)
    made = (
        BackTranslator(str(artefacts["translator"]), BeamSearchConfig(3, 2, max_source_tokens=30), device="cpu"),
        Decontaminator((sets,)),
        PairFilter(("length>=3",), drop_identical=True, decontaminator=Decontaminator((sets,))),
        PairScorer(tuple(name for name in MEASURES if not name.startswith(("language", "cross_encoder"))), measures),
        SentenceEmbedder(encoder, normalize=True),
    )
    return dict(zip(NAMES, made, strict=True))


@pytest.fixture(params=NAMES)
def function(request, functions):
    return functions[request.param]


@pytest.fixture
def rows(function, pairs, bitext):
    return bitext if isinstance(function, BackTranslator) else pairs


def test_every_function_is_public_and_travels_with_its_fields_alone(function, rows):
    assert getattr(hf_paraphrase, type(function).__name__) is type(function)
    before = pickle.dumps(function)
    made = function(rows.slice(0, BATCH))
    assert pickle.dumps(function) == before and len(before) < 2_000
    again = pickle.loads(before)
    assert again == function and same(again(rows.slice(0, BATCH)), made)
    assert function(rows.slice(0, 0)).schema == made.schema


MAP_IN_TWO_PROCESSES = """
import pickle, sys
from pathlib import Path
from datasets import Dataset

folder, size = Path(sys.argv[1]), int(sys.argv[2])
made = {}
for name, (function, rows) in pickle.loads((folder / "functions.pickle").read_bytes()).items():
    data = Dataset(rows).with_format("arrow")
    mapped = data.map(function, batched=True, batch_size=size, num_proc=2, remove_columns=rows.column_names)
    made[name] = mapped.with_format(None).to_dict()
(folder / "mapped.pickle").write_bytes(pickle.dumps(made))
"""
"""Maps all functions in a process that itself computes nothing: only such a process is safe to fork."""


@pytest.fixture(scope="module")
def mapped(functions, pairs, bitext, run_python, tmp_path_factory):
    """What `datasets` makes of each function in two processes, column by column."""
    folder = tmp_path_factory.mktemp("mapped")
    work = {name: (made, bitext if name == "BackTranslator" else pairs) for name, made in functions.items()}
    (folder / "functions.pickle").write_bytes(pickle.dumps(work))
    done = run_python(MAP_IN_TWO_PROCESSES, folder, BATCH)
    assert done.returncode == 0, done.stderr
    return pickle.loads((folder / "mapped.pickle").read_bytes())


def test_datasets_maps_every_function_in_two_processes_to_the_rows_of_one(function, rows, mapped):
    batches = [function(rows.slice(start, BATCH)) for start in range(0, ROWS, BATCH)]
    expected = pa.concat_tables(batches)
    columns = mapped[type(function).__name__]
    assert list(columns) == expected.column_names
    assert repr(columns) == repr(expected.to_pydict())
    assert expected.num_rows > 0


def test_one_string_stands_for_a_tuple_of_it_and_not_for_its_letters():
    assert Paraphraser("nllb") == Paraphraser(("nllb",))
    assert Decontaminator(Path("set.txt"), "text") == Decontaminator(("set.txt",), ("text",))
