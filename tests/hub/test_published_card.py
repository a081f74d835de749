from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from hub_stand_in import TOKEN

from hf_paraphrase.artefacts.cards import render_card
from hf_paraphrase.commands import main
from hf_paraphrase.hub.published_card import published_card
from hf_paraphrase.hub.publishing import plan_push, push_folder

sys.path.append(str(Path(__file__).parents[1] / "artefacts"))
from card_values import ROOT, VALUES

CARD = """---
library_name: transformers
model-index:
- name: avg
---

# avg

An avg made of "avg".

```python
encoder = SentenceEncoder.from_pretrained("avg")
other = AutoModel.from_pretrained("average/avg")
```

`transformers.AutoModel.from_pretrained("avg", trust_remote_code=True)` or `SentenceTransformer('avg')`; not
`AutoModel.from_pretrained("bert")`.

    hf-paraphrase score --pairs avg --classifier avg --output avg
    hf-paraphrase mine --source-encoder avg/source --target-encoder avg/target
"""
PUBLISHED = """---
library_name: transformers
model-index:
- name: avg
---

# avg

An avg made of "avg".

```python
encoder = SentenceEncoder.from_pretrained("ann/best")
other = AutoModel.from_pretrained("average/avg")
```

`transformers.AutoModel.from_pretrained("ann/best", trust_remote_code=True)` or `SentenceTransformer('ann/best')`; not
`AutoModel.from_pretrained("bert")`.

    hf-paraphrase score --pairs avg --classifier ann/best --output avg
    hf-paraphrase mine --source-encoder ann/best/source --target-encoder ann/best/target
"""


def content(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_only_the_calls_and_commands_that_open_the_folder_are_changed():
    assert published_card(CARD, ["avg"], "ann/best") == PUBLISHED
    windows = CARD.replace("\n", "\r\n")
    assert published_card(windows, ["avg"], "ann/best") == PUBLISHED.replace("\n", "\r\n")
    assert published_card(PUBLISHED, ["avg"], "ann/best") == PUBLISHED


@pytest.mark.parametrize("ending", ["---", "---  ", "--- \r", "", "--- no end"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_long_card_that_is_all_head_does_not_keep_a_push_for_ever(newline, ending):
    lines = ["---", *(f'- "avg" {number} from_pretrained("other")' for number in range(200)), ending]
    card = newline.join(lines)
    assert published_card(card, ["avg"], "ann/best") == card
    assert published_card(f'{card}{newline}from_pretrained("avg")', ["avg"], "ann/best").endswith('("ann/best")')


def test_what_stands_in_the_head_stays_even_where_nothing_stands_behind_it():
    head = '---\r\nwidget: from_pretrained("avg")\r\n---'
    assert published_card(head, ["avg"], "ann/best") == head
    assert published_card(f"{head}\r\n{head}", ["avg"], "ann/best") == head + "\r\n" + head.replace("avg", "ann/best")


@pytest.mark.parametrize(
    ("kind", "name"), sorted(key for key in VALUES if "from_pretrained" in render_card(*key, VALUES[key]))
)
def test_no_model_card_opens_a_folder_of_another_machine(kind, name):
    card = render_card(kind, name, VALUES[kind, name])
    called = VALUES[kind, name]["name"]
    text = published_card(card, [called], "ann/best")
    code = re.findall(r'(?:from_pretrained|SentenceTransformer|snapshot_download)\("([^"]*)"', text)
    code += re.findall(r"--(?:model|classifier|source-encoder|target-encoder) (\S+)", text)
    assert code
    assert {"/".join(item.split("/")[:2]) for item in code if item != "DIR"} == {"ann/best"}
    assert f'folder = "{called}"' not in text


@pytest.mark.parametrize(
    ("kind", "name"), sorted(key for key in VALUES if "path/to/this/folder" in render_card(*key, VALUES[key]))
)
def test_no_data_card_loads_a_placeholder(kind, name):
    text = published_card(render_card(kind, name, VALUES[kind, name]), ["pairs"], "ann/best")
    assert 'load_dataset("path' not in text
    # An index is searched in a folder, so the card says how it gets there.
    assert ("path/to/this/folder" in text) == (name == "search_index")
    assert "hf download ann/best" in text if name == "search_index" else 'load_dataset("ann/best"' in text


@pytest.mark.parametrize("name", ["corpus_diversity", "paraphrase_detection", "sts_correlation"])
def test_the_cards_of_metrics_load_the_space(name):
    plan = plan_push(ROOT / "hf_paraphrase" / "metrics" / name, "ann/best")
    (card,) = (file for file in plan.files.files if file.name == "README.md")
    text = card.read().decode()
    assert 'evaluate.load("ann/best"' in text
    assert "path/to/" not in text


def test_the_card_on_the_hub_names_the_repository_and_the_one_here_stays(hub, model_folder):
    (model_folder / "README.md").write_text(CARD)
    before = content(model_folder)
    push_folder(model_folder, "ann/best", token=TOKEN)
    assert content(model_folder) == before
    assert hub.files("ann/best") == {**before, "README.md": PUBLISHED.encode()}
    hub.requests.clear()
    assert push_folder(model_folder, "ann/best", token=TOKEN).changes.send == ()
    assert hub.sent("POST", "*/commit/*") == []


def test_a_folder_that_was_renamed_after_it_was_made_is_known_by_its_title(hub, model_folder):
    (model_folder / "README.md").write_text(CARD)
    folder = model_folder.rename(model_folder.with_name("renamed"))
    push_folder(folder, "ann/best", token=TOKEN)
    assert hub.files("ann/best")["README.md"].decode() == PUBLISHED


def test_a_bare_name_becomes_the_full_name_in_the_card(hub, model_folder, capsys):
    (model_folder / "README.md").write_text(CARD)
    assert main(["push", "--path", str(model_folder), "--repo-id", "best", "--dry-run"]) == 0
    assert "with your namespace" in capsys.readouterr().err
    push_folder(model_folder, "best", token=TOKEN)
    assert hub.files("ann/best")["README.md"].decode() == PUBLISHED


def test_a_dry_run_lists_the_sizes_of_what_would_be_sent(hub, data_folder, capsys):
    card = data_folder / "README.md"
    card.write_text(card.read_text() + '\n    load_dataset("path/to/this/folder", split="train")\n')
    assert main(["push", "--path", str(data_folder), "--repo-id", "ann/a-rather-long-name", "--dry-run"]) == 0
    out, err = capsys.readouterr()
    assert "the code in README.md names ann/a-rather-long-name there" in err
    push_folder(data_folder, "ann/a-rather-long-name", token=TOKEN)
    there = hub.files("ann/a-rather-long-name", "dataset")
    sizes = {name: int(size) for size, name in (line.split("\t") for line in out.splitlines())}
    assert sizes == {name: len(data) for name, data in there.items()}
    assert b'load_dataset("ann/a-rather-long-name", split' in there["README.md"]


def test_the_cards_of_the_parts_of_a_model_name_the_repository_and_those_within_data_do_not(
    hub, model_folder, data_folder
):
    for folder in (model_folder, data_folder):
        name = folder.name
        (folder / "source").mkdir()
        (folder / "source" / "README.md").write_text(f'# {name}/source\n\n    from_pretrained("{name}/source")\n')
    push_folder(model_folder, "ann/best", token=TOKEN)
    assert b'from_pretrained("ann/best/source")' in hub.files("ann/best")["source/README.md"]
    push_folder(data_folder, "ann/data", token=TOKEN)
    assert b'from_pretrained("pairs/source")' in hub.files("ann/data", "dataset")["source/README.md"]
