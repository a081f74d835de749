from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import random
import sys

import pytest
from tqdm import tqdm
from tqdm.std import TqdmDefaultWriteLock

from hf_paraphrase.commands import VERBS

NOT_RUN = {
    "quickstart": "its verbs are run one by one",
}


@pytest.fixture
def program(load_script, monkeypatch, tmp_path_factory, request):
    """Loads a program of the campaign, with a folder for its undisturbed runs that all tests share."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = dict(os.environ)
    work = tmp_path_factory.getbasetemp() / "reliability"

    def load(name, *words):
        module = load_script(f"reliability/{name}")
        campaign = sys.modules["campaign"]
        # What these verbs need is imported once; the objects of a test session are not to be frozen.
        for imported in ("fingerprint_lists", "sources.preparation", "sources.pairs", "sources.bitext"):
            importlib.import_module(f"hf_paraphrase.data.{imported}")
        monkeypatch.setattr(campaign, "import_everything", lambda: None)
        return module, campaign.Campaign("", ["--work", str(work), *words])

    yield load
    for name in {*os.environ} - {*before}:
        del os.environ[name]
    os.environ.update(before)
    for name in ("campaign", "cases", "children", "comparison", "mutations"):
        sys.modules.pop(name, None)


@pytest.fixture
def cases(load_script):
    return load_script("reliability/cases")


def test_every_verb_and_all_that_resumes_has_a_case(cases):
    assert {case.verb for case in cases.CASES} == set(VERBS) - set(NOT_RUN)


def test_a_case_resumes_where_its_run_has_all_that_resuming_is_for(cases):
    known = cases.by_name()
    assert known["avg"].resumes and known["embedded"].resumes
    assert not known["encode"].resumes and not known["pairs"].resumes


def test_what_a_case_reads_is_made_before_it(cases):
    names = [case.name for case in cases.needed(["tune", "mining"])]
    assert names.index("bitext") < names.index("translator") < names.index("bt") < names.index("tune")
    assert {"vectors", "parallel"} <= set(names[: names.index("mining")])


def test_a_killed_run_is_resumed_to_the_same_bytes(program):
    module, campaign = program("kill", "--verbs", "pairs")
    campaign.prepare()
    done = campaign.do(3, module.Kills(campaign).probe)
    assert done.kills and not done.findings


def test_a_kill_before_an_event_comes_before_it(program, tmp_path):
    _, campaign = program("kill", "--verbs", "fingerprint")
    campaign.prepare()
    children = sys.modules["children"]
    (case,) = campaign.cases
    whole = campaign.references["fingerprint"].output.read_bytes()
    for event in range(1, campaign.references["fingerprint"].events + 1):
        ended = children.run(
            campaign.words(case), tmp_path / str(event), disturbance=children.Disturbance(event, children.die)
        )
        assert (ended.code, ended.events) == (-9, event)
        output = tmp_path / str(event) / "run" / case.output
        assert not output.exists() or (event > 1 and output.read_bytes() == whole)


def test_differing_bytes_and_what_is_left_over_are_found(program, tmp_path):
    _, campaign = program("kill", "--verbs", "pairs")
    campaign.prepare()
    reference = campaign.references["pairs"]
    (tmp_path / "run" / "pairs").mkdir(parents=True)
    (tmp_path / "run" / ".pairs.partial").mkdir()
    kinds = [finding.kind for finding in sys.modules["campaign"].compared(reference, tmp_path)]
    assert kinds == ["differing bytes", "left over"]


def test_the_record_is_compared_but_for_times_and_interruptions(load_script, tmp_path):
    comparison = load_script("reliability/comparison")
    for name, record in (
        ("a", {"results": {"seconds": 1.5}, "interruptions": ["resumed"], "seed": 1}),
        ("b", {"results": {"seconds": 2.5}, "seed": 1}),
        ("c", {"results": {"seconds": 2.5}, "seed": 2}),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "provenance.json").write_text(json.dumps(record))
    assert comparison.differences(tmp_path / "a", tmp_path / "b") == []
    assert comparison.differences(tmp_path / "b", tmp_path / "c") == ["provenance.json"]


def test_a_full_disk_is_one_line_and_the_run_is_repeated(program):
    module, campaign = program("full_disk", "--verbs", "pairs")
    campaign.prepare()
    probes = module.FullDisk(campaign)
    probes.mounts = False
    for number in range(3):
        assert not campaign.do(number, probes.probe).findings


def test_of_two_runs_at_once_one_wins(program):
    module, campaign = program("two_at_once", "--verbs", "pairs")
    campaign.prepare()
    assert not campaign.do(0, module.TwoAtOnce(campaign).probe).findings


def test_a_signal_leaves_nothing_half(program):
    module, campaign = program("signals", "--verbs", "pairs")
    campaign.prepare()
    for number in range(3):
        assert not campaign.do(number, module.Signals(campaign).probe).findings


def test_damaged_inputs_are_judged(program):
    module, campaign = program("fuzz", "--verbs", "pairs")
    probes = module.prepare(campaign)
    for number in range(4):
        done = campaign.do(number, probes.probe)
        assert not done.findings, done


def test_numeric_flags_come_from_the_settings(load_script, cases):
    fuzz = load_script("reliability/fuzz")
    flags = fuzz.numeric_flags(cases.by_name()["mine"])
    assert {"--threshold", "--candidates"} <= set(flags) and "--source" not in flags


def test_a_verb_that_hangs_crashes_or_reads_what_is_private_is_found(program):
    program("fuzz", "--verbs", "env")
    judge, children = sys.modules["campaign"], sys.modules["children"]

    def ended(code=0, text="", hung=False, memory=0):
        return children.Ended(code, "", text, 1.0, memory, hung, 0)

    def kinds(**how):
        return [finding.kind for finding in judge.verdict(ended(**how))]

    assert kinds() == kinds(code=2, text="hf-paraphrase: error: no such file") == []
    assert kinds(code=1, text="Traceback (most recent call last):") == ["traceback"]
    assert kinds(code=1, text="ValueError (the traceback is in /tmp/x.txt: please report it)") == ["traceback"]
    assert kinds(code=-11) == ["signal"] and kinds(code=3) == ["exit code"]
    assert kinds(code=-9, hung=True) == ["hang"]
    assert kinds(memory=2 << 30) == ["memory"]
    assert kinds(text=judge.SECRET) == ["leak"]
    assert kinds(text="\x1b]0;owned\x07") == ["control characters"]


def test_what_is_touched_outside_is_found_and_the_probe_can_be_repeated(program, capsys):
    _, campaign = program("fuzz", "--verbs", "env", "--seed", "7")
    campaign.prepare()
    judge = sys.modules["campaign"]

    def probe(number, chance, place):
        (campaign.folder / "private" / "new").write_text("x")
        return judge.Probe("row", "env", [])

    try:
        done = campaign.do(12, probe)
    finally:
        (campaign.folder / "private" / "new").unlink()
    assert [finding.kind for finding in done.findings] == ["touched outside"]
    table = campaign.table(60.0)
    assert "| row | 1 | 1 |" in table and "--seed 7 --probe 12 --verbs env" in table


def test_a_time_set_back_hides_no_change(load_script, tmp_path):
    comparison = load_script("reliability/comparison")
    path = tmp_path / "file"
    path.write_text("before")
    before, times = comparison.state_of([tmp_path]), path.stat()
    path.write_text("behind")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert comparison.changed(before, comparison.state_of([tmp_path])) == [str(path)]


@pytest.mark.parametrize("seed", range(40))
def test_damage_is_the_same_for_the_same_seed(load_script, tmp_path, seed):
    mutations = load_script("reliability/mutations")
    content = b'---\nlicense: mit\n---\n# A title\n{"a": 1}\n'
    for name in ("a.txt", "README.md", "config.json", "x.gz"):
        first, again = (mutations.damaged(content, random.Random(seed), name) for _ in range(2))
        assert first == again


@pytest.mark.parametrize("seed", range(30))
def test_a_folder_is_damaged_inside_only(load_script, tmp_path, seed):
    mutations = load_script("reliability/mutations")
    for name in ("private", "model"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text('{"size": 3}')
    before = (tmp_path / "private" / "config.json").stat()
    assert mutations.damage_folder(tmp_path / "model", random.Random(seed), tmp_path / "private")
    assert (tmp_path / "private" / "config.json").stat() == before


def test_of_a_folder_one_file_alone_may_be_damaged(load_script, tmp_path):
    mutations = load_script("reliability/mutations")
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_text('{"size": 3}')
    for seed in range(10):
        (tmp_path / "tokenizer.json").write_text('{"size": 3}')
        said = mutations.damage_folder(tmp_path, random.Random(seed), tmp_path / "private", "tokenizer.json")
        assert said == "tokenizer.json is damaged" and (tmp_path / "tokenizer.json").read_text() != '{"size": 3}'
    assert (tmp_path / "config.json").read_text() == '{"size": 3}'
    assert len(list(tmp_path.iterdir())) == 2


def test_a_run_that_is_killed_while_it_draws_a_progress_bar_stops_no_later_one(load_script, monkeypatch, tmp_path):
    children = load_script("reliability/children")
    monkeypatch.setattr(TqdmDefaultWriteLock, "mp_lock", multiprocessing.RLock(), raising=False)
    monkeypatch.setattr(tqdm, "_lock", TqdmDefaultWriteLock(), raising=False)
    monkeypatch.setattr("hf_paraphrase.commands.main", lambda: tqdm(range(1)).close())
    killed = os.fork()
    if killed == 0:
        tqdm.get_lock().acquire()
        os._exit(0)
    os.waitpid(killed, 0)
    ended = children.run(["draw"], tmp_path, limits=children.Limits(seconds=5))
    assert ended.code == 0 and "1 [" in ended.stderr


@pytest.mark.slow
def test_a_job_done_in_parts_of_which_some_are_killed_has_the_bytes_of_one_run(program, monkeypatch):
    module, campaign = program("parts", "--verbs", "kept")
    campaign.prepare()
    soon = sys.modules["children"].Disturbance(at_event=4, act=module.die)
    monkeypatch.setattr(module, "_blow", lambda *_: soon)
    probes = module.Parts(campaign)
    done = [campaign.do(number, probes.probe) for number in range(3)]
    assert sum(probe.kills for probe in done) and not any(probe.findings for probe in done)
