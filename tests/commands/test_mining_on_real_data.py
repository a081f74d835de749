from __future__ import annotations

import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.fingerprints import normalise
from hf_paraphrase.data.folder import DataFolder

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module")
def task(real_data_dir, tmp_path_factory):
    folder = tmp_path_factory.mktemp("real")
    source = real_data_dir / "libreoffice_help" / "lo-help-7.4.7.fr-en.tsv.gz"
    words = f"prepare bitext --source-lang fr --target-lang en --tsv {source} --columns source,target"
    assert main([*words.split(), "--output", str(folder / "bitext")]) == 0
    words = "prepare comparable --sentences 1500 --validation-size 200"
    assert main([*words.split(), "--bitext", str(folder / "bitext"), "--output", str(folder / "task")]) == 0
    return folder


def side(task, part, ending):
    lines = (task / "task" / f"fr-en.{part}.{ending}").read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines)


@pytest.mark.parametrize(("part", "size"), [("test", 1500), ("training", 1500)])
def test_gold_of_a_task_from_real_bitext_is_complete(task, part, size):
    sources, targets = side(task, part, "fr"), side(task, part, "en")
    assert len(sources) == len(targets) == size
    names = {normalise(text): name for name, text in targets.items()}
    partners = {}
    for row in DataFolder(task / "bitext").table().to_pylist():
        partners.setdefault(normalise(row["source"]), set()).add(normalise(row["target"]))
    true = {
        (name, names[partner])
        for name, text in sources.items()
        for partner in partners[normalise(text)]
        if partner in names
    }
    gold = (task / "task" / f"fr-en.{part}.gold").read_text().splitlines()
    assert {tuple(line.split("\t")) for line in gold} == true and len(true) == round(0.03 * size)
