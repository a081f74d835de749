"""What a push sends, what it leaves out, what it refuses, and what it changes for the readers on the Hub."""

from __future__ import annotations

import json

import pytest

from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.hub.publishing import plan_push
from hf_paraphrase.hub.pushed_files import list_files, published_card


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "folder"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "b.txt").write_bytes(b"12345")
    (folder / "a.txt").write_text("é", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("name", "shown", "reason"),
    [
        ("data/.cache/x", "data/.cache/", "hidden"),
        ("checkpoint-500/optimizer.pt", "checkpoint-500/", "a checkpoint of training"),
        ("training_args.bin", "training_args.bin", "state of training"),
        ("events.out.tfevents.17", "events.out.tfevents.17", "a log of training"),
    ],
)
def test_by_products_are_left_out_with_their_reason(folder, name, shown, reason):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"x")
    files, left_out = list_files(folder)
    assert [(file.name, file.size) for file in files] == [("a.txt", 2), ("data/b.txt", 5)]
    assert left_out == [(shown, reason)]


def test_pickles_and_links_are_refused_wherever_they_lead(folder, tmp_path):
    (folder / "data" / "weights.pt").write_bytes(b"x")
    with pytest.raises(InputError, match="a pickle is not sent") as caught:
        list_files(folder)
    assert caught.value.path == str(folder / "data" / "weights.pt")
    (folder / "data" / "weights.pt").unlink()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("x")
    for target in (tmp_path / "secret", tmp_path / "secret" / "key", tmp_path / "absent", folder / "a.txt"):
        (folder / "data" / "link").symlink_to(target)
        with pytest.raises(InputError, match=r"a link is not sent.*copy"):
            list_files(folder)
        (folder / "data" / "link").unlink()


def test_a_folder_of_several_types_or_none_is_refused(model_folder, metric_folder):
    (model_folder / "data.parquet").write_text("")
    with pytest.raises(UsageError, match=r"both a model and data.*--repo-type model|dataset|space"):
        plan_push(model_folder, "ann/x")
    (metric_folder / "README.md").write_text("# No sdk\n")
    with pytest.raises(UsageError, match="sdk"):
        plan_push(metric_folder, "ann/x")


@pytest.mark.parametrize(
    ("name", "text", "wording"),
    [
        ("README.md", None, "cannot read the card"),
        ("provenance.json", '{"command": "other tool"}', "no provenance.json of hf-paraphrase"),
        ("source_provenance.json", "{", r"source_provenance\.json is damaged"),
    ],
)
def test_what_is_not_an_artefact_is_refused(model_folder, name, text, wording):
    (model_folder / name).unlink(missing_ok=True)
    if text is not None:
        (model_folder / name).write_text(text)
    with pytest.raises(InputError, match=wording):
        plan_push(model_folder, "ann/x")


CARD = """---
widget: from_pretrained("avg")
---

# avg

An avg made of "avg".

```python
encoder = SentenceEncoder.from_pretrained("avg")
other = AutoModel.from_pretrained("average/avg")
folder = "avg"
```

`AutoModel.from_pretrained("avg", trust_remote_code=True)` or `SentenceTransformer('avg')`, not
`AutoModel.from_pretrained("bert")`; `load_dataset("path/to/this/folder", split="avg")`.

    hf-paraphrase score --pairs avg --classifier avg --output avg
    hf-paraphrase mine --source-encoder avg/source --target-encoder avg/target
"""
PUBLISHED = """---
widget: from_pretrained("avg")
---

# avg

An avg made of "avg".

```python
encoder = SentenceEncoder.from_pretrained("ann/best")
other = AutoModel.from_pretrained("average/avg")
from huggingface_hub import snapshot_download

folder = snapshot_download("ann/best")
```

`AutoModel.from_pretrained("ann/best", trust_remote_code=True)` or `SentenceTransformer('ann/best')`, not
`AutoModel.from_pretrained("bert")`; `load_dataset("ann/best", split="avg")`.

    hf-paraphrase score --pairs avg --classifier ann/best --output avg
    hf-paraphrase mine --source-encoder ann/best/source --target-encoder ann/best/target
"""


def test_only_code_that_opens_the_folder_names_the_repository():
    assert published_card(CARD, ["avg"], "ann/best") == PUBLISHED == published_card(PUBLISHED, ["avg"], "ann/best")


def test_cards_and_the_report_of_a_model_name_the_repository_and_the_folder_stays(model_folder, data_folder):
    (model_folder / "README.md").write_text(CARD)
    (model_folder / "report.html").write_text("<code>from_pretrained(&quot;avg&quot;)</code>")
    (model_folder / "source").mkdir()
    (model_folder / "source" / "README.md").write_text('    from_pretrained("avg/source")\n')
    folder = model_folder.rename(model_folder.with_name("renamed"))  # its title is still avg
    files = {file.name: file.read().decode() for file in plan_push(folder, "ann/best").files if ".s" not in file.name}
    assert files["README.md"] == PUBLISHED and (folder / "README.md").read_text() == CARD
    assert files["report.html"] == "<code>from_pretrained(&quot;ann/best&quot;)</code>"
    assert files["source/README.md"] == '    from_pretrained("ann/best/source")\n'
    (data_folder / "encoder").mkdir()
    (data_folder / "encoder" / "README.md").write_text('    from_pretrained("pairs")\n')
    assert {file.name: file.content for file in plan_push(data_folder, "ann/x").files}["encoder/README.md"] is None


def test_records_lose_their_paths_and_one_without_any_stays_byte_by_byte(model_folder):
    settings, short = (
        {"pairs": "/srv/alice/client_x/pairs", "keep": "bleu<0.9"},
        {"pairs": "pairs", "keep": "bleu<0.9"},
    )
    record = {"command": "hf-paraphrase x", "results": {"text": "/not a path of the settings"}}
    for name in ("provenance.json", "source_provenance.json"):
        content = {**record, "settings": settings, "evaluations": {"sts": {"settings": settings}}}
        (model_folder / name).write_text(json.dumps(content))
    files = {file.name: file for file in plan_push(model_folder, "ann/best").files}
    assert json.loads(files["provenance.json"].read()) == {
        **record,
        "settings": short,
        "evaluations": {"sts": {"settings": short}},
    }
    assert files["source_provenance.json"].read() == files["provenance.json"].read()
    assert json.loads((model_folder / "provenance.json").read_text())["settings"] == settings
    text = '{"command": "hf-paraphrase x", "settings": {"pairs": "sets/pairs", "model": "ann/avg"},   "inputs": []}'
    (model_folder / "provenance.json").write_text(text)
    assert {file.name: file for file in plan_push(model_folder, "ann/x").files}["provenance.json"].content is None
