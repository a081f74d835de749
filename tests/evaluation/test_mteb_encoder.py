from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_encoders import write_average
from torch.utils.data import DataLoader

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import ModelError
from hf_paraphrase.evaluation.mteb_encoder import MtebEncoder

TEXTS = ["the cat sat", "", "a dog", "the the dog ran", "cat", "never seen"]


def save_model(path, seed=0):
    return write_average(path, ["the", "cat", "sat", "a", "dog", "ran"], seed=seed)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("models") / "avg")


def loader(texts, size=4):
    """What mteb makes of a data set: a loader whose batches are dicts of lists."""
    return DataLoader([{"text": text, "id": str(place)} for place, text in enumerate(texts)], batch_size=size)


def evaluate_sts(model, sentences1, sentences2):
    """A stand-in for mteb's evaluator of graded pairs: the calls that it makes, with the arguments that it gives."""
    assert hasattr(model, "mteb_model_meta")
    told = {"task_metadata": object(), "hf_split": "test", "hf_subset": "default", "prompt_type": None}
    vectors = [model.encode(loader(part), **told, batch_size=32) for part in (sentences1, sentences2)]
    return model.similarity_pairwise(*vectors), model.similarity(*vectors)


def test_the_calls_of_mteb_give_the_cosines_of_the_encoders_vectors(folder):
    pairwise, matrix = evaluate_sts(MtebEncoder(folder), TEXTS, TEXTS[::-1])
    vectors = SentenceEncoder.from_pretrained(folder).encode(TEXTS, normalize=True)
    np.testing.assert_allclose(matrix.numpy(), vectors @ vectors[::-1].T, atol=1e-6)
    torch.testing.assert_close(pairwise, matrix.diagonal())
    assert pairwise.dtype == matrix.dtype == torch.float32
    # The empty text is like nothing, not even itself, and no value is lost to a division by zero.
    assert not matrix[1].any() and not matrix[:, 4].any() and matrix.isfinite().all()


def test_batches_of_the_loader_are_embedded_in_their_order(folder):
    model = MtebEncoder(folder)
    expected = SentenceEncoder.from_pretrained(folder).encode(TEXTS)
    for size in (1, 4, 9):
        np.testing.assert_array_equal(model.encode(loader(TEXTS, size), batch_size=2), expected)
    assert model.encode(loader([" "])).shape == (1, 5)


def test_single_vectors_are_compared_too(folder):
    model = MtebEncoder(folder)
    first, second = model.encode(loader(TEXTS[:1]))[0], torch.ones(5)
    expected = torch.nn.functional.cosine_similarity(torch.from_numpy(first), second, dim=0)
    torch.testing.assert_close(model.similarity(first, second), expected.reshape(1, 1))
    torch.testing.assert_close(model.similarity_pairwise(first, second), expected.reshape(1))


def test_a_folder_that_is_no_encoder_is_a_model_error(tmp_path):
    with pytest.raises(ModelError):
        MtebEncoder(tmp_path)


def test_mteb_itself_takes_it_for_an_encoder(folder):
    protocols = pytest.importorskip("mteb.models.models_protocols")
    assert isinstance(MtebEncoder(folder), protocols.EncoderProtocol)


def local_task(mteb):
    """A task of mteb whose data are in the program, so that nothing is fetched."""
    from datasets import Dataset, DatasetDict
    from mteb.abstasks.sts import AbsTaskSTS
    from mteb.abstasks.task_metadata import TaskMetadata

    class LocalTask(AbsTaskSTS):
        metadata = TaskMetadata(
            name="LocalSTS",
            description="Pairs.",
            reference=None,
            dataset={"path": "local/pairs", "revision": "1"},
            type="STS",
            category="t2t",
            modalities=["text"],
            eval_splits=["test"],
            eval_langs=["eng-Latn"],
            main_score="cosine_pearson",
            date=None,
            domains=None,
            task_subtypes=None,
            license=None,
            annotations_creators=None,
            dialect=None,
            sample_creation=None,
            bibtex_citation=None,
        )

        def load_data(self, **_):
            pairs = {"sentence1": TEXTS[:1] * 4, "sentence2": ["cat", "a dog", "the dog ran", "sat a cat"]}
            self.dataset = DatasetDict({"test": Dataset.from_dict({**pairs, "score": [5.0, 0.0, 1.0, 3.0]})})
            self.data_loaded = True

    return LocalTask()


def test_mteb_files_the_results_of_each_model_under_its_name_and_fingerprint(folder, tmp_path, monkeypatch):
    mteb = pytest.importorskip("mteb")
    pytest.importorskip("sentence_transformers")
    cache = mteb.ResultCache(tmp_path / "cache")
    asked = []
    encode = MtebEncoder.encode
    monkeypatch.setattr(MtebEncoder, "encode", lambda *args, **kwargs: asked.append(1) or encode(*args, **kwargs))

    def score(model):
        asked.clear()
        result = mteb.evaluate(MtebEncoder(model), local_task(mteb), cache=cache, show_progress_bar=False)
        return round(result.task_results[0].get_score(), 4), result.model_name, bool(asked)

    first, name, was_asked = score(folder)
    assert (name, was_asked) == ("hf-paraphrase/avg", True)
    # Another model of the same name, as in the folder of another run.
    second, name, was_asked = score(save_model(tmp_path / "avg", seed=1))
    assert (name, was_asked) == ("hf-paraphrase/avg", True) and second != first
    assert score(folder) == (first, "hf-paraphrase/avg", False)
    # Trained on in its place.
    assert score(save_model(tmp_path / "avg", seed=2))[0] not in (first, second)
