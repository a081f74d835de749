from __future__ import annotations

import numpy as np
import pytest

WORDS = [*"abcdefgh", "well", "known", "-", "well-known", "1.5"]


@pytest.fixture
def folder(tmp_path):
    generator = np.random.default_rng(0)
    for year, name in (("STS12", "MSRpar"), ("STS16", "headlines")):
        at = tmp_path / "sts" / f"{year}-en-test"
        at.mkdir(parents=True)
        first, second = ([" ".join(generator.choice(WORDS, size=5)) for _ in range(30)] for _ in range(2))
        lines = "".join(f"{one}\t{other}\n" for one, other in zip(first, second, strict=True))
        (at / f"STS.input.{name}.txt").write_text(lines)
        (at / f"STS.gs.{name}.txt").write_text("".join(f"{x % 6}\n" for x in range(30)))
    for name, words in (("few", WORDS[:9]), ("all", WORDS)):
        rows = (
            f"{word} {' '.join(f'{x:.3f}' for x in np.random.default_rng(len(word)).normal(size=4))}" for word in words
        )
        (tmp_path / f"{name}.txt").write_text("\n".join(rows) + "\n")
    return tmp_path


def test_tokens_and_vectors_are_compared_with_ours_and_the_first(folder, run_script, capsys):
    words = ["--data", folder / "sts", "--vectors", f"few={folder / 'few.txt'}", f"again={folder / 'few.txt'}"]
    assert run_script("studies/untrained_inputs", *words, f"all={folder / 'all.txt'}") == 0
    rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in capsys.readouterr().out.splitlines()]
    columns = [f"{tokens}, {name}" for tokens in ("ours", "treebank") for name in ("few", "again", "all")]
    assert rows[0] == ["sets", *columns]
    titles = ["STS16", "all others", "STS12 MSRpar", "STS16 headlines"]
    assert [row[0] for row in rows[2:]] == [*titles, *(f"{title}, weighted" for title in titles)]
    for row in rows[2:]:
        assert row[2] == f"{row[1]}, +0.0 [+0.0, +0.0]" and row[4].split(",")[0] == row[5].split(",")[0]
    # Only where the Treebank keeps words whole does `well-known` have its own vector.
    assert rows[2][6].split(",")[0] != rows[2][4].split(",")[0]


def test_missing_vectors_are_one_line(folder, run_script, capsys):
    assert run_script("studies/untrained_inputs", "--data", folder / "sts", "--vectors", "x=absent.txt") == 2
    assert capsys.readouterr().err.count("\n") == 1
