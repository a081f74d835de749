from __future__ import annotations

import json

import pyarrow as pa
import pytest

from hf_paraphrase.data.folder import write_split

SETS = {"STS12-en-test": ("MSRpar", "OnWN"), "STS13-en-test": ("OnWN",), "STS16-en-test": ("headlines",)}


@pytest.fixture
def folder(tmp_path):
    first = [f"a{x} c{x % 7} b{(x * 5) % 11}" for x in range(40)]
    second = [f"b{(x * 5) % 11} d{x % 7} a{x}" for x in range(40)]
    table = pa.table({"sentence1": first, "sentence2": second})
    write_split(tmp_path / "pairs", "train", [table], table.schema)
    (tmp_path / "avg.yaml").write_text("model_type: avg\nepochs: 1\nhidden_size: 4\nmin_frequency: 1\n")
    for year, names in SETS.items():
        at = tmp_path / "sts" / year
        at.mkdir(parents=True)
        for number, name in enumerate(names):
            rows = range(number, 12 + number)
            (at / f"STS.input.{name}.txt").write_text("".join(f"{first[x]}\t{second[(x * x) % 9]}\n" for x in rows))
            (at / f"STS.gs.{name}.txt").write_text("".join(f"{x % 5}\n" for x in rows))
    return tmp_path


@pytest.fixture
def compare(folder, run_script, capsys):
    """Runs the comparison; gives its code, its table as rows of cells, and what it said."""

    def run(*words, output="out"):
        given = ["--configs", folder / "avg.yaml", "--pairs", f"news={folder / 'pairs'}", "--seeds", 0, 1]
        given += ["--dev-data", folder / "sts/STS16-en-test", "--data", folder / "sts", "--output", folder / output]
        capsys.readouterr()
        code = run_script("studies/compare_encoders", *given, *words)
        out, err = capsys.readouterr()
        return code, [[cell.strip() for cell in line.strip("|").split("|")] for line in out.splitlines()], err

    return run


def rows_of(folder, output="out"):
    return [json.loads(line) for line in (folder / output / "results.jsonl").read_text().splitlines()]


def test_named_groups_of_sets_are_further_columns_and_finished_runs_are_not_done_again(compare, folder):
    code, plain, _ = compare()
    assert code == 0 and plain[0] == ["encoder", "news: STS16 (dev)", "news: other sets"] and len(plain) == 3
    before = rows_of(folder)
    groups = ["--group", "glosses=OnWN", "--group", "paraphrases=STS12 MSRpar"]
    code, grouped, _ = compare(*groups)
    assert code == 0 and rows_of(folder) == before
    assert grouped[0] == [*plain[0], "news: glosses", "news: paraphrases"] and grouped[2][:3] == plain[2]
    for keys, cell in ((["STS12 OnWN", "STS13 OnWN"], grouped[2][3]), (["STS12 MSRpar"], grouped[2][4])):
        means = [sum(row["sets"][key] for key in keys) / len(keys) for row in before]
        assert cell.startswith(f"{sum(means) / 2:.1f} ± ")


def test_flags_after_two_dashes_go_to_every_training_and_are_part_of_what_makes_a_run(compare, folder):
    (folder / "words.txt").write_text("".join(f"a{x}\n" for x in range(40)))
    flags = ["--", "--batch-size", 20, "--word-list", folder / "words.txt"]
    assert compare("--keep-models")[0] == 0 and len(rows_of(folder)) == 2
    assert compare("--keep-models", *flags)[0] == 0 and len(rows_of(folder)) == 4
    for seed in (0, 1):
        record = json.loads((folder / f"out/models/avg_news_{seed}/provenance.json").read_text())
        assert record["settings"]["batch_size"] == 20 and record["settings"]["word_list"].endswith("words.txt")
    assert compare(*flags)[0] == 0 and len(rows_of(folder)) == 4
    # What is in a file counts, not where it lies.
    (folder / "words.txt").rename(folder / "moved.txt")
    flags[-1] = folder / "moved.txt"
    assert compare(*flags)[0] == 0 and len(rows_of(folder)) == 4


def test_every_configuration_is_compared_with_the_first_over_seeds_and_sentence_pairs(compare, folder, load_script):
    (folder / "small.yaml").write_text((folder / "avg.yaml").read_text().replace("hidden_size: 4", "hidden_size: 2"))
    (folder / "same.yaml").write_text((folder / "avg.yaml").read_text() + "# the same\n")
    configs = ["--configs", *(folder / f"{name}.yaml" for name in ("avg", "small", "same"))]
    code, printed, _ = compare(*configs, "--seeds", 0, 1, 2)
    assert code == 0
    judged = [row for row in printed if row[0].startswith("news, ")]
    titles = [f"news, {title}: {config}" for config in ("small", "same") for title in ("STS16 (dev)", "other sets")]
    assert [row[0] for row in judged] == titles
    assert [row[1:] for row in judged[2:]] == [["+0.0 [+0.0, +0.0]", "cannot tell"]] * 2
    rows = rows_of(folder)
    module = load_script("studies/compare_encoders")
    # What is redrawn is redrawn alike for all encoders, and about what the encoder scores.
    for row in rows:
        for key, value in row["sets"].items():
            assert len(row["drawn"][key]) == 500 and abs(sum(row["drawn"][key]) / 500 - value) < 25
    avg, same = ([row["drawn"] for row in rows if row["config"] == name] for name in ("avg", "same"))
    assert avg == same
    # Rows that were noted before there were redrawn pairs are compared over seeds alone.
    for row in rows:
        del row["drawn"]
    text = module.differences(rows, ["avg", "small"], ["news"])
    values = [judged[1][1].split()[0], text.splitlines()[-1].split("|")[2].split()[0]]
    assert values[0] == values[1]


def test_a_configuration_is_compared_with_one_of_another_output(compare, folder):
    assert compare()[0] == 0
    (folder / "other.yaml").write_text((folder / "avg.yaml").read_text() + "margin: 0.3\n")
    words = ["--configs", folder / "other.yaml", "--against", folder / "out", "avg"]
    code, printed, _ = compare(*words, output="second")
    assert code == 0 and [row["config"] for row in rows_of(folder, "second")] == ["other", "other"]
    # The table has the configurations of this output alone.
    assert [row[0] for row in printed[2:3]] == ["other"] and printed[4][0] == "difference from avg"
    text = (folder / "second/differences.md").read_text()
    assert "news, other sets: other" in text and "news, STS16 (dev): other" in text


def test_a_line_torn_by_a_kill_is_a_run_to_do_again(compare, folder):
    _, table, _ = compare()
    path = folder / "out/results.jsonl"
    whole = path.read_text()
    path.write_text(whole[:-30])
    assert compare()[:2] == (0, table)
    lines = path.read_text().splitlines()
    assert [*lines[:1], *lines[2:]] == whole.splitlines() and lines[1] == whole.splitlines()[1][:-29]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--group", "glosses=FNWN"], "--group glosses: there is no set `FNWN` (one of STS12 MSRpar, "),
        (["--group", "dev=headlines"], "there is no set `headlines`"),
        (["--group", "glosses"], "--group glosses is not NAME=SET,..."),
    ],
)
def test_a_group_that_cannot_be_is_one_line_before_any_training(compare, folder, words, message):
    code, table, error = compare(*words)
    assert code == 2 and table == [] and message in error and error.count("\n") == 1
    assert not (folder / "out").exists()


def test_flags_that_every_run_has_of_its_own_cannot_be_forwarded(compare):
    with pytest.raises(SystemExit) as caught:
        compare("--", "--seed", 3)
    assert caught.value.code == 2
