from __future__ import annotations

import pyarrow.parquet as pq
import pytest
import torch
from back_translate_runs import command, files, job
from two_processes import launch

from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.jobs.shards import ShardJob, cut, run_shards
from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig
from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer
from hf_paraphrase.translation.back_translation import BackTranslator, back_translated
from hf_paraphrase.translation.decoder_steps import int8_is_fast
from hf_paraphrase.translation.search_settings import SearchOptions
from hf_paraphrase.translation.translator import Translator

KILLED = """
import os, signal, sys
from hf_paraphrase.commands import main
from hf_paraphrase.jobs import shards
write = shards.write_shard
def killed_in_the_third_shard(job, shard, output, *progress):
    if shard.index == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    write(job, shard, output, *progress)
shards.write_shard = killed_in_the_third_shard
main(sys.argv[1:])
"""


def same_data(first, second):
    names = {name for name in files(first) if name.startswith("data/") or name == "skipped.jsonl"}
    return set(files(first)) == set(files(second)) and all(files(first)[name] == files(second)[name] for name in names)


def test_the_number_of_processes_does_not_change_a_byte(tiny_model, awkward_bitext, translated, tmp_path):
    options = SearchOptions(4, 3, max_source_tokens=50)
    shards = cut("train", 17, 4)
    for rank in (2, 0, 1):
        translator = BackTranslator(str(tiny_model), options)
        list(run_shards(ShardJob(DataFolder(awkward_bitext), {"train": translator}, 4), shards[rank::3], tmp_path))
        assert sum(shard.is_finished(tmp_path) for shard in shards) == {2: 1, 0: 3, 1: 5}[rank]
    for path in (translated / "data").iterdir():
        assert (tmp_path / "data" / path.name).read_bytes() == path.read_bytes()


PROGRAM = ("-m", "hf_paraphrase")


@pytest.mark.slow
def test_two_processes_under_accelerate_give_the_files_of_one(tiny_model, awkward_bitext, translated, tmp_path):
    words = command(tiny_model, awkward_bitext, tmp_path / "pairs", "--max-source-tokens", "50")
    result = launch(*PROGRAM, *words)
    assert result.returncode == 0, result.stderr[-3_000:]
    assert same_data(tmp_path / "pairs", translated) and result.stdout == ""
    assert result.stderr.count("load them: ") == 1


@pytest.mark.slow
def test_two_processes_of_which_one_is_killed_are_continued_by_one(tiny_model, awkward_bitext, translated, tmp_path):
    (tmp_path / "killed.py").write_text(KILLED)
    output = tmp_path / "out" / "pairs"
    result = launch(tmp_path / "killed.py", *command(tiny_model, awkward_bitext, output, "--max-source-tokens", "50"))
    assert result.returncode != 0 and not output.exists()
    assert list(output.parent.rglob("train-00000-of-*.parquet"))
    assert job(tiny_model, awkward_bitext, output, "--max-source-tokens", "50", "--resume") == 0
    assert same_data(output, translated) and [path.name for path in output.parent.iterdir()] == ["pairs"]


@pytest.fixture(scope="module")
def tokenizer(number_pairs):
    return train_bpe_tokenizer([text for pair in number_pairs(64, 0) for text in pair], 60)


@pytest.fixture(scope="module")
def make_model(tokenizer):
    """Makes an untrained model whose matrices are large enough for several threads to share a product."""

    def make(seed):
        torch.manual_seed(seed)
        sizes = {"vocab_size": len(tokenizer), "embedding_size": 64, "hidden_size": 256, "initialization": "xavier"}
        model = RnnSearchForConditionalGeneration(RnnSearchConfig(**sizes)).eval()
        with torch.no_grad():
            model.lm_head.bias[tokenizer.eos_token_id] += 1.0
        return model

    return make


@pytest.fixture
def threads():
    """Sets the number of threads of PyTorch for a test."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(
    "precision",
    [
        {},
        {"bf16": True},
        pytest.param(
            {"bf16": True, "int8": True},
            marks=pytest.mark.skipif(not int8_is_fast(), reason="no instructions for products in 8 bits"),
        ),
    ],
)
def test_the_number_of_threads_does_not_change_a_bit(
    make_model, tokenizer, write_bitext, number_pairs, tmp_path, threads, plain, precision, monkeypatch
):
    bitext = write_bitext(tmp_path / "bitext", train=number_pairs(40, 50))
    table = pq.read_table(next((bitext / "data").glob("train-*")))
    model = make_model(0)
    if plain:
        if precision.get("int8"):
            pytest.skip("for the fast search alone")
        monkeypatch.setattr("hf_paraphrase.translation.translator.fast_search_applies", lambda model: False)
        monkeypatch.setattr("hf_paraphrase.translation.beam_search.fast_search_applies", lambda model: False)
    found = []
    for count in (1, 4):
        threads(count)
        translator = Translator(model, tokenizer, SearchOptions(40, 40, **precision))
        assert translator.threads == min(count, 2 if plain else 4)
        found.append(back_translated(translator, table)[0])
        assert torch.get_num_threads() == count
    assert found[0].num_rows > 1_000 and found[0].equals(found[1])
