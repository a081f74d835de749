"""Files that a push sends, leaves out, refuses, and changes for readers on the Hub."""

from __future__ import annotations

import json
import re
import traceback
from types import SimpleNamespace

import numpy as np
import pytest
from fake_hub import TOKEN, URL
from huggingface_hub.errors import HfHubHTTPError
from small_runs import tree
from tiny_encoders import write_average

from hf_paraphrase import SentenceEncoder
from hf_paraphrase.commands import main
from hf_paraphrase.errors import HubError, InputError, UsageError
from hf_paraphrase.hub.publishing import check_redistribution, explain_refusal, plan_push, send
from hf_paraphrase.hub.pushed_files import adapt_card, list_files
from hf_paraphrase.registry import SOURCES


def push_here(folder, repo_id="ann/thing", *, allow_any_license=False, **options):
    planned = {name: options.pop(name) for name in ("repo_type", "revision") if name in options}
    plan = plan_push(folder, repo_id, **planned)
    if not allow_any_license:
        check_redistribution(plan)
    return send(plan, **{"token": TOKEN, **options})


@pytest.mark.parametrize("kind", ["model", "dataset", "space"])
def test_a_folder_arrives_byte_for_byte_as_one_commit_of_a_repository_of_its_kind(
    hub, model_folder, data_folder, metric_folder, kind
):
    folder = {"model": model_folder, "dataset": data_folder, "space": metric_folder}[kind]
    done = push_here(folder)
    repository = hub.repositories[kind, "ann/thing"]
    assert hub.files("ann/thing", kind) == tree(folder)
    assert repository.sdk == ("gradio" if kind == "space" else None)
    assert len(repository.commits) == 2 and repository.commits[done.commit][1] == f"Upload {folder.name}"
    assert (done.url, done.is_new) == (f"{URL}/{'' if kind == 'model' else f'{kind}s/'}ann/thing", True)
    again = push_here(folder)
    assert (again.commit, again.is_new) == (done.commit, False)


def test_files_that_the_folder_lacks_stay_or_are_pruned(hub, model_folder):
    push_here(model_folder)
    (model_folder / "tokenizer.json").unlink()
    done = push_here(model_folder)
    assert done.stale == ["tokenizer.json"]
    assert "tokenizer.json" in hub.files("ann/thing")
    done = push_here(model_folder, prune=True)
    assert done.stale == ["tokenizer.json"]
    assert hub.files("ann/thing") == tree(model_folder)
    assert ".gitattributes" in hub.repositories["model", "ann/thing"].commits[done.commit][0]


def test_old_shards_never_mix_with_new_data(hub, data_folder):
    old = {"data/train-00000-of-00001.parquet": b"old", "notes.txt": b"notes"}
    hub.make("ann/thing", "dataset", files=old)
    with pytest.raises(HubError, match=r"data/train-00000-of-00001.parquet, which load_dataset would read.*--prune"):
        push_here(data_folder)
    assert hub.files("ann/thing", "dataset") == old
    push_here(data_folder, prune=True)
    assert hub.files("ann/thing", "dataset") == tree(data_folder)


def test_a_commit_of_somebody_else_in_between_is_not_overwritten(hub, model_folder, monkeypatch):
    theirs = {"config.json": b"theirs"}
    repository, list_files = hub.make("ann/thing"), hub.list_repo_files
    monkeypatch.setattr(hub, "list_repo_files", lambda *a, **b: (list_files(*a, **b), repository.commit(theirs))[0])
    with pytest.raises(HubError, match=r"A commit has happened since.*repeat the command"):
        push_here(model_folder)
    assert hub.files("ann/thing") == theirs


@pytest.mark.parametrize("head", ["", "license: [mit, unknown]\n"])
def test_data_that_may_not_be_passed_on_is_not_sent_unless_allowed(hub, data_folder, head, capsys):
    card = data_folder / "README.md"
    card.write_text(card.read_text().replace("license: cc-by-2.0\n", head))
    with pytest.raises(
        InputError,
        match=r"the data is not sent: .*write it into the head of the card, as `license: .*--allow-any-license",
    ):
        push_here(data_folder)
    with pytest.raises(InputError, match="the data is not sent"):
        push_here(data_folder, repo_type="model")  # calling it a model does not make it one
    words = ["push", "--path", str(data_folder), "--repo-id", "ann/pairs", "--dry-run"]
    assert main(words) == 2 and "the data is not sent" in capsys.readouterr().err
    assert main([*words, "--allow-any-license"]) == 0 and "warning: its " in capsys.readouterr().err
    assert hub.calls == []
    push_here(data_folder, allow_any_license=True)
    assert hub.files("ann/thing", "dataset") == tree(data_folder)


@pytest.mark.parametrize(
    ("status", "wording"), [(403, "see --repo-id, and use a token that may write"), (503, "repeat the command")]
)
def test_an_error_of_the_hub_is_one_line_without_the_token_and_leaves_the_branch(hub, model_folder, status, wording):
    response = SimpleNamespace(status_code=status, headers={}, request=None)
    hub.error, hub.fails = HfHubHTTPError(f"no\nroom for {TOKEN}", response=response), "create_commit"
    with pytest.raises(HubError, match=f"no room for <token>.*{wording}") as caught:
        push_here(model_folder)
    assert TOKEN not in "".join(traceback.format_exception(caught.value))
    assert hub.files("ann/thing") == {}


def test_a_token_is_never_published_breaks_no_header_and_is_refused_among_the_flags(hub, model_folder, capsys):
    with pytest.raises(UsageError, match="invalid characters") as caught:
        push_here(model_folder, token="hf_bad\nsecret")
    assert "secret" not in str(caught.value)
    (model_folder / "notes.txt").write_text(f"key={TOKEN}")
    with pytest.raises(InputError, match="contains your token") as caught:
        push_here(model_folder)
    assert caught.value.path == str(model_folder / "notes.txt") and TOKEN not in str(caught.value)
    assert main(["push", "--path", str(model_folder), "--repo-id", "ann/avg", f"--hf_token={TOKEN}"]) == 2
    out, err = capsys.readouterr()
    assert TOKEN not in out + err and "error: " in err
    assert hub.calls == []


@pytest.mark.parametrize("name", ["ann/pairs/more", "ann/", "ann/a..b", "ann/a b"])
def test_a_dry_run_refuses_names_that_the_hub_refuses(hub, data_folder, capsys, name):
    assert main(["push", "--path", str(data_folder), "--repo-id", name, "--dry-run"]) == 2
    assert f"--repo-id `{name}` is not a name of the Hub" in capsys.readouterr().err
    assert main(["push", "--path", "absent", "--repo-id", "ann/pairs", "--dry-run"]) == 2
    assert "absent: no such folder" in capsys.readouterr().err and hub.calls == []


def test_a_dry_run_lists_names_and_sizes_without_token_and_network(hub, data_folder, capsys):
    (data_folder / ".git").mkdir()
    card = data_folder / "README.md"
    card.write_text(card.read_text() + '\n    load_dataset("path/to/this/folder", split="train")\n')
    words = ["push", "--path", str(data_folder), "--repo-id", "ann/a-rather-long-name"]
    assert main([*words, "--dry-run", "--private"]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"4 files, \d.* would be sent to the private dataset ann/a-rather-long-name, branch main; ", err)
    assert "not sent: .git/ (hidden)" in err
    assert "on the Hub, README.md will name ann/a-rather-long-name" in err
    assert hub.calls == []
    push_here(data_folder, "ann/a-rather-long-name")
    sent = hub.files("ann/a-rather-long-name", "dataset")
    assert out == "".join(f"{len(data)}\t{name}\n" for name, data in sorted(sent.items()))
    assert b'load_dataset("ann/a-rather-long-name", split' in sent["README.md"]


def test_push_to_hub_of_an_encoder_sends_a_model_that_opens_by_its_name(hub, tmp_path):
    (tmp_path / "avg").mkdir()
    write_average(tmp_path / "avg", ["the", "cat", "sat"], initializer_range=1.0)
    encoder = SentenceEncoder.from_pretrained(tmp_path / "avg")
    url = encoder.push_to_hub("ann/my_avg", commit_message="Once more", revision="v2", private=True, token=TOKEN)
    assert url == f"{URL}/ann/my_avg/tree/v2"
    repository = hub.repositories["model", "ann/my_avg"]
    assert repository.private and hub.files("ann/my_avg") == {}
    assert repository.commits[repository.branches["v2"]][1] == "Once more"
    hub.make("ann/public")
    with pytest.raises(UsageError, match="exists and is public"):
        encoder.push_to_hub("ann/public", private=True, token=TOKEN)
    assert hub.files("ann/public") == {}
    opened = SentenceEncoder.from_pretrained("ann/my_avg", revision="v2")
    np.testing.assert_array_equal(opened.encode(["the cat"]), encoder.encode(["the cat"]))


# ----- licences


@pytest.mark.parametrize(
    ("head", "wording"),
    [
        ({}, "states no licence"),
        ({"license": "other", "license_name": "ldc"}, "`other` (ldc), which does not say"),
        ({"license": "cc-by-nd-4.0"}, "forbids redistribution of changed copies"),
        ({"license": "mit-but-not-really"}, "is not known to allow"),
        ({"license": ["mit", "other"]}, "`other`, which does not say"),
    ],
)
def test_a_licence_that_does_not_allow_passing_on_is_refused_with_the_reason(head, wording):
    assert wording in (explain_refusal(head) or "")


def test_free_licences_and_those_of_our_own_sources_are_known():
    own = [SOURCES[name].LICENSE for name in ("opusparcus", "ppdb", "sick", "simpwiki", "turku")]
    for licence in (*own, "cc-by-2.0", "cc-by-nc-4.0", "cc0-1.0", "odbl", "CC-BY-4.0", ["mit", "gpl-3.0"]):
        assert explain_refusal({"license": licence}) is None


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
PUBLISHED = CARD
for written, sent in {
    'r.from_pretrained("avg")\n': 'r.from_pretrained("ann/best")\n',
    'folder = "avg"\n': 'from huggingface_hub import snapshot_download\n\nfolder = snapshot_download("ann/best")\n',
    'from_pretrained("avg", trust': 'from_pretrained("ann/best", trust',
    "SentenceTransformer('avg')": "SentenceTransformer('ann/best')",
    "path/to/this/folder": "ann/best",
    "--classifier avg": "--classifier ann/best",
    "avg/source": "ann/best/source",
    "avg/target": "ann/best/target",
}.items():
    PUBLISHED = PUBLISHED.replace(written, sent)


def test_cards_and_the_report_of_a_model_name_the_repository_and_the_folder_stays(model_folder, data_folder):
    (model_folder / "README.md").write_text(CARD)
    (model_folder / "report.html").write_text("<code>from_pretrained(&quot;avg&quot;)</code>")
    (model_folder / "source").mkdir()
    (model_folder / "source" / "README.md").write_text('    from_pretrained("avg/source")\n')
    folder = model_folder.rename(model_folder.with_name("renamed"))  # its title is still avg
    files = {file.name: file.read().decode() for file in plan_push(folder, "ann/best").files if ".s" not in file.name}
    assert adapt_card(PUBLISHED, ["avg"], "ann/best") == PUBLISHED
    assert files["README.md"] == PUBLISHED and (folder / "README.md").read_text() == CARD
    assert files["report.html"] == "<code>from_pretrained(&quot;ann/best&quot;)</code>"
    assert files["source/README.md"] == '    from_pretrained("ann/best/source")\n'
    (data_folder / "encoder").mkdir()
    (data_folder / "encoder" / "README.md").write_text('    from_pretrained("pairs")\n')
    assert {file.name: file.content for file in plan_push(data_folder, "ann/x").files}["encoder/README.md"] is None


def test_records_lose_their_paths_and_one_without_any_stays_byte_by_byte(model_folder):
    def record(pairs):
        settings = {"pairs": pairs, "keep": "bleu<0.9"}
        kept = {"command": "hf-paraphrase x", "results": {"text": "/not a path of the settings"}}
        records = {"evaluations": {"sts": {"settings": settings}}, "source": {"settings": settings}}
        return {**kept, "settings": settings, **records}

    private = record("/srv/alice/client_x/pairs")
    for name in ("provenance.json", "source_provenance.json"):
        (model_folder / name).write_text(json.dumps(private))
    files = {file.name: file for file in plan_push(model_folder, "ann/best").files}
    assert json.loads(files["provenance.json"].read()) == record("pairs")
    assert files["source_provenance.json"].read() == files["provenance.json"].read()
    assert json.loads((model_folder / "provenance.json").read_text()) == private
    text = '{"command": "hf-paraphrase x", "settings": {"pairs": "sets/pairs", "model": "ann/avg"},   "inputs": []}'
    (model_folder / "provenance.json").write_text(text)
    assert {file.name: file for file in plan_push(model_folder, "ann/x").files}["provenance.json"].content is None
