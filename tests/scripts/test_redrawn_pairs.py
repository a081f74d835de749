from __future__ import annotations

import json

import numpy as np
import pytest

from hf_paraphrase import SentenceEncoder
from hf_paraphrase.encoders.untrained import untrained_encoder
from hf_paraphrase.evaluation.sts import evaluate_sts
from hf_paraphrase.evaluation.sts_files import find_sts_sets

TEXTS = [f"a{x} c{x % 7} b{(x * 5) % 11}" for x in range(60)]


@pytest.fixture
def sts(tmp_path):
    at = tmp_path / "sts/STS16-en-test"
    at.mkdir(parents=True)
    for name, other in (("headlines", 3), ("plagiarism", 8)):
        pairs = [f"{text}\t{TEXTS[(x * x) % other]}\n" for x, text in enumerate(TEXTS)]
        (at / f"STS.input.{name}.txt").write_text("".join(pairs))
        (at / f"STS.gs.{name}.txt").write_text("".join(f"{x % 5}\n" for x in range(len(TEXTS))))
    return tmp_path / "sts"


def test_what_is_redrawn_spreads_around_the_score_and_is_drawn_alike_for_every_encoder(sts, tmp_path, run_script):
    pairs, found = [{"sentence1": " ".join(TEXTS), "sentence2": "a1"}] * 2, []
    for name, seed in (("one", 0), ("same", 0), ("other", 1)):
        encoder = SentenceEncoder(*untrained_encoder("avg", pairs, hidden_size=8, seed=seed))
        encoder.save_pretrained(tmp_path / name)
        output = tmp_path / f"{name}.json"
        assert run_script("studies/redrawn_pairs", "--model", tmp_path / name, "--data", sts, "--output", output) == 0
        found.append(json.loads(output.read_text()))
        for scored in evaluate_sts(encoder.encode, find_sts_sets(sts).sets).sets:
            values = np.array(found[-1][scored.key])
            assert len(values) == 500 and values.std() > 1
            assert values.mean() == pytest.approx(scored.pearson, abs=values.std() / 2)
    assert found[0] == found[1] != found[2]
    # The two sets are drawn each for itself.
    assert len(found[0]) == 2


def test_an_encoder_that_is_not_there_is_one_line_and_leaves_nothing(sts, tmp_path, run_script, capsys):
    output = tmp_path / "drawn.json"
    assert run_script("studies/redrawn_pairs", "--model", tmp_path / "none", "--data", sts, "--output", output) == 2
    assert capsys.readouterr().err.count("\n") == 1 and not output.exists()
