# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from transformers import PreTrainedModel, PreTrainedTokenizerFast

from .classification.classifier import ReferenceScorer, SentenceClassifierModel
from .classification.parallel_classifier import ParallelClassifier
from .data.decontamination import Decontaminator
from .data.folder import DataFolder
from .data.rows import open_rows
from .data.sources.loading import load_dataset
from .data.sources.preparation import prepare
from .deduplication.deduplicate import deduplicate
from .encoders.encode_file import SentenceEmbedder
from .encoders.sentence_encoder import SentenceEncoder
from .errors import HfParaphraseError, HubError, InputError, ModelError, OutputError, UsageError
from .evaluation.run import Evaluation
from .exporting.run import Exported
from .filtering.filter_pipeline import PairFilter
from .filtering.measuring import Measures, PairScorer
from .hub.publishing import Push
from .models import (
    AvgConfig,
    AvgModel,
    GranConfig,
    GranModel,
    ParallelBiGruConfig,
    ParallelBiGruModel,
    RecurrentConfig,
    RecurrentModel,
    ReferenceClassifier,
    ReferenceClassifierConfig,
    RnnSearchConfig,
    RnnSearchForConditionalGeneration,
    SdaeConfig,
    SdaeModel,
    SentenceClassifier,
    SentenceClassifierConfig,
)
from .models.registry import register
from .paraphrasing.paraphraser import Paraphraser
from .paraphrasing.run import paraphrase
from .searching.index import SearchIndex
from .searching.run import Searched
from .searching.semantic_search import paraphrase_mining, semantic_search
from .studies.detection.human_scores import Scores
from .studies.detection.neighbours import Lists
from .studies.detection.similarities import Distributions
from .text.fingerprints import Fingerprints
from .training.devices import Environment
from .translation.back_translation import BackTranslator
from .translation.evaluate import EvaluatedTranslation
from .translation.lexical_table import LexicalTable
from .translation.search_settings import BeamSearchConfig
from .vectors.quantization import quantize_embeddings

class _Table(Protocol):
    """A `Dataset`, a `DatasetDict` or a data frame."""

    @property
    def to_parquet(self) -> Any: ...

class _Model(Protocol):
    """An encoder, a model of transformers or of sentence-transformers."""

    @property
    def save_pretrained(self) -> Any: ...

_Path: TypeAlias = str | os.PathLike[str]
_Input: TypeAlias = _Path | _Table | _Model | Mapping[str, _Table] | Sequence[Mapping[str, Any]]

__all__ = [
    "AvgConfig",
    "AvgModel",
    "BackTranslator",
    "BeamSearchConfig",
    "DataFolder",
    "Decontaminator",
    "GranConfig",
    "GranModel",
    "HfParaphraseError",
    "HubError",
    "InputError",
    "Measures",
    "ModelError",
    "OutputError",
    "PairFilter",
    "PairScorer",
    "ParallelBiGruConfig",
    "ParallelBiGruModel",
    "Paraphraser",
    "RecurrentConfig",
    "RecurrentModel",
    "ReferenceClassifier",
    "ReferenceClassifierConfig",
    "ReferenceScorer",
    "RnnSearchConfig",
    "RnnSearchForConditionalGeneration",
    "SdaeConfig",
    "SdaeModel",
    "SearchIndex",
    "SentenceClassifier",
    "SentenceClassifierConfig",
    "SentenceEmbedder",
    "SentenceEncoder",
    "UsageError",
    "__version__",
    "analyze_gates",
    "analyze_human_scores",
    "analyze_neighbours",
    "analyze_pairs",
    "analyze_similarities",
    "back_translate",
    "deduplicate",
    "distill",
    "encode",
    "env",
    "evaluate",
    "evaluate_mining",
    "evaluate_nmt",
    "expand",
    "export",
    "filter",
    "fingerprint",
    "join",
    "launch_demo",
    "lexical_table",
    "load_dataset",
    "mine",
    "open_rows",
    "paraphrase",
    "paraphrase_file",
    "paraphrase_mining",
    "predict",
    "prepare",
    "prepare_bitext",
    "prepare_pairs",
    "prepare_pivot",
    "push",
    "quantize_embeddings",
    "quickstart",
    "register",
    "score",
    "search",
    "semantic_search",
    "serve",
    "train_bilingual_vectors",
    "train_classifier",
    "train_encoder",
    "train_nmt",
    "train_parallel_classifier",
    "train_sdae",
    "train_supervised",
    "train_tokenizer",
    "tune",
]

__version__: str

def predict(
    *,
    model: _Input,
    data: _Input,
    output: _Path,
    device: str = "cpu",
    split: str = "test",
    text_column: str | None = None,
    target_column: str | None = None,
    label_separator: str | None = None,
    threshold: float = 0.5,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Apply a model of `train-supervised` to a split of a data folder, and compare where there are right answers."""

def train_supervised(
    *,
    output: _Path,
    data: _Input,
    device: str | None = None,
    seed: int = 0,
    license: str | None = None,
    overwrite: bool = False,
    resume: bool = False,
    report_to: str = "none",
    model: _Input = "builtin",
    task: str = "classification",
    text_column: str | None = None,
    target_column: str | None = None,
    label_separator: str | None = None,
    train_split: str = "train",
    dev_split: str | None = None,
    test_split: str | None = None,
    dev_share: float = 0.1,
    lowest_score: int = 1,
    highest_score: int = 5,
    from_scratch: bool = False,
    initial_vectors: _Input | None = None,
    freeze_encoder: bool = False,
    lambda_w: float = 0.0,
    row_penalty: float | None = None,
    lambda_c: float = 0.0,
    epochs: int = 10,
    batch_size: int = 25,
    learning_rate: float | None = None,
) -> SentenceClassifierModel:
    """Train a head on an encoder, and the encoder with it, on classes or scores (Gimpel et al.)."""

def train_classifier(
    *,
    output: _Path,
    pairs: _Input,
    device: str | None = None,
    seed: int = 0,
    license: str | None = None,
    overwrite: bool = False,
    resume: bool = False,
    report_to: str = "none",
    body: str = "avg",
    negatives: str = "random",
    train_size: int = 40000,
    dev_size: int = 5000,
    test_size: int = 5000,
    initial_vectors: _Input | None = None,
    embedding_size: int = 300,
    epochs: int = 10,
    batch_size: int = 100,
    learning_rate: float = 0.001,
    embedding_penalty: float = 0.0,
) -> ReferenceScorer:
    """Train a classifier that distinguishes references from translations (Wieting et al. 2017, section 5.6.1)."""

def fingerprint(*, output: _Path, data: _Input | Sequence[_Input], overwrite: bool = False) -> Fingerprints:
    """Write a list of fingerprints of evaluation sets, and return those of each set."""

def prepare_bitext(
    *,
    output: _Path,
    source_lang: str,
    target_lang: str,
    overwrite: bool = False,
    header: str = "auto",
    license: str | None = None,
    url: str | None = None,
    decontaminate: _Input | Sequence[_Input] = ...,
    decontaminate_ngrams: int | None = None,
    decontaminate_similarity: float | None = None,
    decontaminate_encoder: _Input = "builtin",
    on_error: str = "raise",
    max_pairs: int | None = None,
    source_file: _Input | None = None,
    target_file: _Input | None = None,
    tsv: _Input | None = None,
    columns: str = "source,target",
    tmx: _Input | None = None,
    gettext: _Input | None = None,
    dataset: _Input | None = None,
    subset: str | None = None,
    split: str = "train",
    validation_source_file: _Input | None = None,
    validation_target_file: _Input | None = None,
    test_source_file: _Input | None = None,
    test_target_file: _Input | None = None,
    validation_size: int = 0,
    test_size: int = 0,
    seed: int = 0,
    shuffle: bool = False,
    drop_identical: bool = False,
    min_length: int = 0,
    max_length: int = 0,
    max_length_ratio: float = 0.0,
    drop_duplicates: str = "none",
) -> DataFolder:
    """Make a bitext data folder from aligned files, TSV, TMX or gettext catalogues (plain, .gz, .bz2, .xz, .zst)."""

def prepare_pairs(
    *,
    output: _Path,
    overwrite: bool = False,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    header: str = "auto",
    license: str | None = None,
    url: str | None = None,
    decontaminate: _Input | Sequence[_Input] = ...,
    decontaminate_ngrams: int | None = None,
    decontaminate_similarity: float | None = None,
    decontaminate_encoder: _Input = "builtin",
    on_error: str = "raise",
    max_pairs: int | None = None,
    tsv: _Input = "",
    csv: _Input = "",
    jsonl: _Input = "",
    parquet: _Input = "",
    dataset: _Input = "",
    subset: str | None = None,
    columns: str = "sentence1,sentence2",
    keep_columns: bool = False,
    positive_label: str | None = None,
    split: str = "train",
    lang: str = "en",
) -> DataFolder:
    """Make a paraphrase data folder from a TSV, CSV, JSON lines or Parquet file, or a dataset on the Hub."""

def prepare_pivot(
    *,
    output: _Path,
    bitext: _Input | Sequence[_Input],
    overwrite: bool = False,
    license: str | None = None,
    url: str | None = None,
    decontaminate: _Input | Sequence[_Input] = ...,
    decontaminate_ngrams: int | None = None,
    decontaminate_similarity: float | None = None,
    decontaminate_encoder: _Input = "builtin",
    max_pairs: int | None = None,
    split: str = "train",
    ranked: bool = False,
) -> DataFolder:
    """Make a paraphrase data folder of the pairs of target sentences that share a source sentence."""

def launch_demo(
    *,
    device: str = "cpu",
    models: _Input | Sequence[_Input] = ...,
    model_source_lang: str | None = None,
    model_target_lang: str | None = None,
    port: int = 7860,
    output: _Path | None = None,
    overwrite: bool = False,
) -> Path | None:
    """Open the page and serves it until it is interrupted, or writes the folder of a Space."""

def distill(
    *,
    output: _Path,
    device: str | None = None,
    seed: int = 0,
    license: str | None = None,
    overwrite: bool = False,
    resume: bool = False,
    report_to: str = "none",
    decontaminate: _Input | Sequence[_Input] = ...,
    decontaminate_ngrams: int | None = None,
    decontaminate_similarity: float | None = None,
    decontaminate_encoder: _Input = "builtin",
    teacher: _Input | Sequence[_Input] = ...,
    multilingual_teacher: _Input | Sequence[_Input] = ...,
    text: _Input | Sequence[_Input] = ...,
    multilingual_text: _Input | Sequence[_Input] = ...,
    bitext: _Input | Sequence[_Input] = ...,
    teacher_lang: str = "en",
    center_teachers: bool = False,
    language_exponent: float = 1.0,
    teacher_vectors: _Path | None = None,
    teacher_precision: str = "auto",
    columns: str | Sequence[str] = ...,
    max_characters: int = 1000,
    cosine_weight: float = 1.0,
    ranking_weight: float = 0.0,
    matryoshka: int | Sequence[int] = ...,
    network_learning_rate: float = 0.001,
    initial_vectors: _Input | None = None,
    tokenizer: _Input | None = None,
    word_list: _Input | None = None,
    vocab_size: int = 200000,
    min_frequency: int = 2,
    lower_case: bool = True,
    split_contractions: bool = True,
    treebank_words: bool = False,
    skip_unknown: bool | None = None,
    initial_distribution: str | None = None,
    cell: str | None = None,
    peepholes: bool | None = None,
    candidate_activation: str | None = None,
    bidirectional: bool | None = None,
    variational_dropout: float | None = None,
    variational_dropout_of: str | None = None,
    pooling: str | None = None,
    model_type: str = "avg",
    initial_model: _Input | None = None,
    hidden_size: int | None = None,
    dropout: float = 0.0,
    word_dropout: float = 0.0,
    letters: bool = False,
    ngram_buckets: int = 100000,
    dev_data: _Input | None = None,
    principal_components: int | None = None,
    epochs: float = 6.0,
    batch_size: int = 1024,
    learning_rate: float = 0.01,
    precision: str = "fp32",
) -> SentenceEncoder:
    """Distil a sentence encoder from teachers on plain text and write its folder, with card and record."""

def encode(
    *,
    input: _Input,
    device: str = "cpu",
    shard: str | None = None,
    overwrite: bool = False,
    engine: str = "local",
    ray_address: str | None = None,
    ray_workers: int | None = None,
    ray_cpus: int = 1,
    ray_gpus: float | None = None,
    model: _Input = "builtin",
    output: _Path | None = None,
    columns: str | Sequence[str] = ...,
    batch_size: int = 256,
    truncate_dim: int | None = None,
    prompt_name: str | None = None,
    prompt: str | None = None,
    normalize: bool = False,
    precision: str = "fp32",
    shard_size: int | None = None,
    resume: bool = False,
) -> Path:
    """Embed the lines of a text file, or columns of a data folder, and return the NumPy file or the new folder."""

def join(
    *,
    model: _Input | Sequence[_Input],
    output: _Path,
    weights: float | Sequence[float] = ...,
    text: _Input | Sequence[_Input] = ...,
    vocab_size: int = 100000,
    frequency_constant: float = 0.001,
    seed: int = 0,
    license: str | None = None,
    overwrite: bool = False,
) -> SentenceEncoder:
    """Put averages of token vectors side by side in one encoder and write its folder, with card and record."""

def train_encoder(
    *,
    output: _Path,
    pairs: _Input,
    device: str | None = None,
    seed: int = 0,
    license: str | None = None,
    overwrite: bool = False,
    resume: bool = False,
    report_to: str = "none",
    loss: str = "margin",
    margin: float | None = None,
    scale: float | None = None,
    negatives_from: str = "both",
    mega_batch_size: int = 1,
    scramble: float = 0.0,
    matryoshka: int | Sequence[int] = ...,
    lambda_c: float = 0.0,
    lambda_w: float = 0.0,
    dense_optimizer: bool = False,
    initial_vectors: _Input | None = None,
    tokenizer: _Input | None = None,
    word_list: _Input | None = None,
    vocab_size: int = 200000,
    min_frequency: int = 2,
    lower_case: bool = True,
    split_contractions: bool = True,
    treebank_words: bool = False,
    skip_unknown: bool | None = None,
    initial_distribution: str | None = None,
    cell: str | None = None,
    peepholes: bool | None = None,
    candidate_activation: str | None = None,
    bidirectional: bool | None = None,
    variational_dropout: float | None = None,
    variational_dropout_of: str | None = None,
    pooling: str | None = None,
    model_type: str = "avg",
    initial_model: _Input | None = None,
    hidden_size: int | None = None,
    dropout: float = 0.0,
    word_dropout: float = 0.0,
    hard_negatives: _Input | None = None,
    dev_data: _Input | None = None,
    patience: int | None = None,
    epochs: float | None = None,
    batch_size: int = 100,
    gradient_accumulation_steps: int = 1,
    learning_rate: float | None = None,
    lr_scheduler: str = "constant",
    warmup: float = 0.0,
    weight_decay: float = 0.0,
    logging_steps: int | None = None,
    eval_steps: int | None = None,
    max_grad_norm: float = 0.0,
    precision: str = "fp32",
    max_pairs: int | None = None,
    positive_label: str | None = None,
) -> SentenceEncoder:
    """Train a sentence encoder on pairs (paper 000, section 4.2) and write its folder, with card and record."""

def evaluate(
    *,
    data: _Input | Sequence[_Input],
    device: str = "cpu",
    model: _Input | Sequence[_Input] = ...,
    baseline: str | Sequence[str] = ...,
    suite: str | None = None,
    protocols: str | Sequence[str] = ...,
    split: str = "test",
    dev_split: str = "validation",
    test_split: str = "test",
    seeds: int = 5,
    tasks: str | Sequence[str] = ...,
    text_column: str = "text",
    label_column: str = "label",
    batch_size: int = 256,
    truncate_dim: int | Sequence[int] = ...,
    output: _Path | None = None,
    overwrite: bool = False,
    update_card: bool = False,
) -> Evaluation:
    """Measure sentence encoders and baselines on data of one or several suites."""

def export(
    *,
    model: _Input,
    output: _Path,
    format: str = "onnx",
    weights: str = "float32",
    sentences: _Input | None = None,
    overwrite: bool = False,
) -> Exported:
    """Write an encoder or classifier as an ONNX graph, or otherwise by the format, and compares it with the model."""

def filter(
    *,
    pairs: _Input,
    output: _Path,
    decontaminate: _Input | Sequence[_Input] = ...,
    decontaminate_ngrams: int | None = None,
    decontaminate_similarity: float | None = None,
    decontaminate_encoder: _Input = "builtin",
    drop_identical: bool = False,
    keep: str | Sequence[str] = ...,
    one_per_reference: str | None = None,
    first: int | None = None,
    max_tokens: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    noise: float = 0.0,
    negatives: int | None = None,
    explain: _Path | None = None,
    split: str = "train",
    overwrite: bool = False,
) -> DataFolder:
    """Keep the pairs of a data folder that pass every step (Wieting et al. 2017, section 5.4)."""

def score(
    *,
    pairs: _Input,
    output: _Path,
    shard: str | None = None,
    overwrite: bool = False,
    engine: str = "local",
    ray_address: str | None = None,
    ray_workers: int | None = None,
    ray_cpus: int = 1,
    ray_gpus: float | None = None,
    measures: str | Sequence[str] = ...,
    language_model_text: _Input | None = None,
    hold_out: int | None = None,
    seed: int = 0,
    batch_size: int = 10000,
    shard_size: int | None = None,
    workers: int | None = None,
    resume: bool = False,
    translation_model: _Input | None = None,
    model_source_lang: str | None = None,
    model_target_lang: str | None = None,
    task_prefix: str | None = None,
    device: str = "cpu",
    language_model: _Input | None = None,
    classifier: _Input | None = None,
    encoder: _Input | None = None,
    language: str | None = None,
    source_language: str | None = None,
) -> DataFolder:
    """Add measures as columns to every split of a folder of pairs (Wieting et al. 2017, sections 5.5 to 5.7)."""

def tune(
    *,
    pairs: _Input | Sequence[_Input],
    output: _Path,
    dev_data: _Input,
    data: _Input | None = None,
    filters: str | Sequence[str] = ...,
    keep: str | Sequence[str] = ...,
    encoders: str | Sequence[str] = ...,
    initial_vectors: _Input | None = None,
    epochs: float | None = None,
    sample: int = 24000,
    seeds: int | Sequence[int] = ...,
    grid_seeds: int = 1,
    bootstrap: int = 1000,
    overwrite: bool = False,
    resume: bool = False,
) -> str:
    """Train encoders on many selections of pairs, and choose on the dev set (Wieting et al. 2017, section 5.4)."""

def push(
    *,
    path: _Input,
    repo_id: str,
    repo_type: str | None = None,
    private: bool = False,
    revision: str = "main",
    dry_run: bool = False,
    prune: bool = False,
    allow_any_license: bool = False,
) -> Push:
    """Send a model, data or metric folder to the Hub, as one commit."""

def mine(
    *,
    source: _Input,
    target: _Input,
    output: _Path,
    device: str = "cpu",
    encoder: _Input | None = None,
    source_encoder: _Input | None = None,
    target_encoder: _Input | None = None,
    candidates: int = 40,
    neighbours: int = 4,
    approximate: bool = False,
    batch_size: int = 256,
    source_lang: str = "",
    target_lang: str = "",
    layout: str = "lines",
    margin: str | None = None,
    classifier: _Input | None = None,
    one_to_one: bool = True,
    threshold: float | None = None,
    tune_on: str | None = None,
    dev_bitext: _Input | None = None,
    gold: _Input | None = None,
    resume: bool = False,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Find the translations between two collections of sentences, each in one language."""

def paraphrase_file(
    *,
    models: _Input | Sequence[_Input],
    input: _Input,
    output: _Path,
    shard: str | None = None,
    overwrite: bool = False,
    engine: str = "local",
    ray_address: str | None = None,
    ray_workers: int | None = None,
    ray_cpus: int = 1,
    ray_gpus: float | None = None,
    max_length_ratio: float = 3.0,
    min_length_ratio: float = 0.0,
    length_penalty: float = 1.0,
    precision: str = "auto",
    device: str | None = None,
    num_beams: int = 5,
    max_source_tokens: int = 250,
    resume: bool = False,
    generator: str = "round-trip",
    language: str | None = None,
    pivots: str | Sequence[str] = ...,
    task_prefix: str | None = None,
    prompt: _Input | None = None,
    max_new_tokens: int = 128,
    num_candidates: int | None = None,
    do_sample: bool = False,
    temperature: float = 1.0,
    top_p: float = 1.0,
    top_k: int = 0,
    seed: int = 0,
    api_base: str | None = None,
    api_key_variable: str = "OPENAI_API_KEY",
    requests_per_minute: float | None = None,
    column: str | None = None,
    keep_columns: str | Sequence[str] = ...,
    split: str = "train",
    num: int = 5,
    encoder: _Input | None = None,
    min_similarity: float = 0.7,
    min_edit_distance: float = 0.15,
    max_sentences: int | None = None,
    shard_size: int = 200,
) -> DataFolder:
    """Paraphrase the sentences of a file or data folder."""

def quickstart(
    *,
    output: _Path,
    num_pairs: int = 31600,
    nmt_epochs: float = 3.0,
    max_sentences: int = 10000,
    num_beams: int = 8,
    seed: int = 0,
    overwrite: bool = False,
    resume: bool = False,
) -> Path:
    """Run the whole pipeline of paper 000 on the sample; returns the folder, whose card has the results."""

def search(
    *,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    device: str = "cpu",
    model: _Input | None = None,
    corpus: _Input | None = None,
    columns: str | Sequence[str] = ...,
    split: str | None = None,
    index: _Input | None = None,
    add: _Input | None = None,
    remove: _Input | None = None,
    remove_id: str | Sequence[str] = ...,
    remove_where: str | Sequence[str] = ...,
    unique: bool = False,
    query: str | Sequence[str] = ...,
    query_file: _Input | None = None,
    top_k: int = 10,
    filter: str | Sequence[str] = ...,
    hybrid: bool = False,
    prompt_name: str | None = None,
    prompt: str | None = None,
    snippets: bool = False,
    format: str = "tsv",
    mine: bool = False,
    threshold: float = 0.8,
    max_pairs: int = 1000000,
    method: str | None = None,
    output: _Path | None = None,
    batch_size: int = 256,
    overwrite: bool = False,
) -> Searched:
    """Builds an index or changes one, finds the nearest neighbours of queries, or mines paraphrases."""

def serve(
    *,
    device: str = "cpu",
    model: _Input | None = None,
    index: _Input | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    writable: bool = False,
    allowed_host: str | Sequence[str] = ...,
) -> None:
    """Answers requests over HTTP until it is interrupted."""

def analyze_pairs(
    *,
    output: _Path,
    pairs: _Input,
    device: str = "cpu",
    overwrite: bool = False,
    classifier: _Input | None = None,
    unseen_only: bool = False,
    idf_text: _Input | None = None,
    examples: int = 10,
    split: str = "train",
    seed: int = 0,
) -> dict[str, Any]:
    """Report how translations differ from references: tables 9 to 11 of Wieting et al. 2017."""

def analyze_human_scores(
    *,
    output: _Path,
    model: _Input | Sequence[_Input],
    data: _Input | Sequence[_Input],
    device: str = "cpu",
    overwrite: bool = False,
    batch_size: int = 256,
    split: str | Sequence[str] = ...,
) -> dict[str, Scores]:
    """Compare human scores of sentence pairs with the cosines of encoders (Sjöblom et al. 2018, section A.4)."""

def analyze_neighbours(
    *,
    output: _Path,
    model: _Input | Sequence[_Input],
    text: _Input | Sequence[_Input],
    device: str = "cpu",
    overwrite: bool = False,
    batch_size: int = 256,
    query: str | Sequence[str] = ...,
    queries: _Input | None = None,
    neighbours: int = 10,
) -> Lists:
    """Show the nearest sentences to a query under several encoders (Sjöblom et al. 2018, tables 4, 5, 10, 11)."""

def analyze_similarities(
    *,
    output: _Path,
    model: _Input | Sequence[_Input],
    text: _Input | Sequence[_Input],
    device: str = "cpu",
    overwrite: bool = False,
    batch_size: int = 256,
    query: str | Sequence[str] = ...,
    queries: _Input | None = None,
) -> Distributions:
    """Show the distribution of the cosines of queries with all sentences of a text (Sjöblom et al. 2018, figure 1)."""

def expand(
    *,
    output: _Path,
    decontaminate: _Input | Sequence[_Input] = ...,
    decontaminate_ngrams: int | None = None,
    decontaminate_similarity: float | None = None,
    decontaminate_encoder: _Input = "builtin",
    text: _Input | None = None,
    pairs: _Input | None = None,
    wordnet: _Input | None = None,
    share: float = 0.3,
    seed: int = 0,
    overwrite: bool = False,
) -> dict[str, int]:
    """Replace words of English sentences by their definitions in WordNet (Moskvichev and Steyvers, section 2.1)."""

def analyze_gates(
    *,
    output: _Path,
    model: _Input,
    device: str = "cpu",
    overwrite: bool = False,
    text: _Input | Sequence[_Input] = ...,
    tagged: _Input | Sequence[_Input] = ...,
    max_sentences: int = 20000,
    min_count: int = 20,
    seed: int = 0,
) -> dict[str, Any]:
    """Report how much of each word the gates of a GRAN let into the sentence (Gimpel et al.)."""

def train_bilingual_vectors(
    *,
    output: _Path,
    bitext: _Input,
    device: str | None = None,
    seed: int = 0,
    license: str | None = None,
    overwrite: bool = False,
    resume: bool = False,
    report_to: str = "none",
    digits: str = "keep",
    min_frequency: int = 2,
    max_pairs: int | None = None,
    dimension: int = 300,
    epochs: int = 10,
    window: int = 5,
    negatives: int = 5,
    subsampling: float = 0.0001,
    aligned_weight: float = 30.0,
    batch_size: int = 256,
    learning_rate: float = 0.02,
) -> tuple[SentenceEncoder, SentenceEncoder]:
    """Train word vectors of two languages in one space, without word alignments (BilBOWA: Gouws et al. 2015)."""

def evaluate_mining(
    *,
    task: str,
    output: _Path,
    device: str = "cpu",
    encoder: _Input | None = None,
    source_encoder: _Input | None = None,
    target_encoder: _Input | None = None,
    candidates: int = 40,
    neighbours: int = 4,
    approximate: bool = False,
    batch_size: int = 256,
    scoring_encoder: _Input | Sequence[_Input] = ...,
    classifier: _Input | Sequence[_Input] = ...,
    random_negatives: int = 5503,
    resume: bool = False,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Measure candidates, scores and decisions of `mine` on a task with known pairs."""

def train_parallel_classifier(
    *,
    output: _Path,
    bitext: _Input,
    device: str | None = None,
    seed: int = 0,
    license: str | None = None,
    overwrite: bool = False,
    resume: bool = False,
    report_to: str = "none",
    digits: str = "keep",
    min_frequency: int = 2,
    max_pairs: int | None = None,
    encoder: _Input | None = None,
    source_encoder: _Input | None = None,
    target_encoder: _Input | None = None,
    negatives: int = 5,
    score_layer: str = "bilinear",
    share_rnn: bool = False,
    initial_vectors: _Input | None = None,
    embedding_size: int | None = None,
    hidden_size: int = 200,
    epochs: int = 10,
    batch_size: int = 128,
    learning_rate: float = 0.0002,
) -> ParallelClassifier:
    """Train a classifier that predicts whether two sentences are translations (Grégoire and Langlais 2017)."""

def train_sdae(
    *,
    output: _Path,
    device: str | None = None,
    seed: int = 0,
    license: str | None = None,
    overwrite: bool = False,
    resume: bool = False,
    report_to: str = "none",
    decontaminate: _Input | Sequence[_Input] = ...,
    decontaminate_ngrams: int | None = None,
    decontaminate_similarity: float | None = None,
    decontaminate_encoder: _Input = "builtin",
    text: _Input | Sequence[_Input] = ...,
    pairs: _Input | Sequence[_Input] = ...,
    columns: str | Sequence[str] = ...,
    drop: float = 0.1,
    swap: float = 0.1,
    expansion: _Input | None = None,
    expansion_use: str = "noise",
    expansion_weight: float = 1.0,
    hidden_size: int = 600,
    embedding_size: int | None = None,
    readout_size: int | None = None,
    initialization: str = "xavier",
    initial_vectors: _Input | None = None,
    fixed_vectors: bool = False,
    vocab_size: int = 30000,
    max_words: int = 100,
    dev_size: int = 1000,
    max_steps: int = 10000,
    batch_size: int = 64,
    learning_rate: float = 0.0002,
    max_grad_norm: float = 2.0,
    evaluations: int = 10,
    precision: str = "auto",
) -> SentenceEncoder:
    """Train a sequential denoising autoencoder on plain text (Hill, Cho and Korhonen 2016; Moskvichev & Steyvers)."""

def train_tokenizer(
    *,
    output: _Path,
    kind: str = "word",
    text: _Input | Sequence[_Input] = ...,
    pairs: _Input | Sequence[_Input] = ...,
    corpus_exponent: float = 1.0,
    vocab_size: int | None = None,
    min_frequency: int | None = None,
    dampening: str | None = None,
    seed: int = 0,
    lower_case: bool = True,
    split_contractions: bool = True,
    treebank_words: bool = False,
    license: str | None = None,
    overwrite: bool = False,
) -> PreTrainedTokenizerFast:
    """Learn a tokenizer from text and write its folder, with card and record."""

def env(*, json: bool = False) -> Environment:
    """Finds the versions of Python and of the packages that matter, the processor and the accelerators."""

def back_translate(
    *,
    model: _Input,
    bitext: _Input,
    output: _Path,
    shard: str | None = None,
    overwrite: bool = False,
    engine: str = "local",
    ray_address: str | None = None,
    ray_workers: int | None = None,
    ray_cpus: int = 1,
    ray_gpus: float | None = None,
    max_length_ratio: float = 3.0,
    min_length_ratio: float = 0.0,
    length_penalty: float = 1.0,
    precision: str = "auto",
    device: str | None = None,
    num_beams: int = 50,
    max_source_tokens: int = 250,
    resume: bool = False,
    lexical_table: _Input | None = None,
    candidates_frequent: int = 10000,
    candidates_per_unit: int = 25,
    model_source_lang: str | None = None,
    model_target_lang: str | None = None,
    task_prefix: str | None = None,
    split: str = "train",
    num_return_sequences: int | None = None,
    reference_candidates: bool = True,
    max_sentences: int | None = None,
    shard_size: int = 1000,
) -> DataFolder:
    """Translates the source side of a bitext, and keeps the n-best lists as paraphrases of its English side."""

def evaluate_nmt(
    *,
    model: _Input,
    bitext: _Input,
    lexical_table: _Input | None = None,
    candidates_frequent: int = 10000,
    candidates_per_unit: int = 25,
    max_length_ratio: float = 3.0,
    min_length_ratio: float = 0.0,
    length_penalty: float = 1.0,
    precision: str = "fp32",
    device: str | None = None,
    model_source_lang: str | None = None,
    model_target_lang: str | None = None,
    task_prefix: str | None = None,
    split: str = "test",
    num_beams: int | Sequence[int] = ...,
    lower_case: bool = False,
    cased: bool = False,
    bleu_tokenizer: str | None = None,
    max_sentences: int | None = None,
    output: _Path | None = None,
    translations: _Path | None = None,
    overwrite: bool = False,
    update_card: bool = False,
) -> EvaluatedTranslation:
    """Translates the source side of a bitext, and measures BLEU, chrF2 and TER against the target side."""

def lexical_table(
    *,
    model: _Input,
    bitext: _Input | Sequence[_Input],
    output: _Path,
    split: str = "train",
    iterations: int = 5,
    max_sentences: int | None = None,
    overwrite: bool = False,
) -> LexicalTable:
    """Estimates how the source units of a translation model are translated, and writes it to a file."""

def train_nmt(
    *,
    output: _Path,
    bitext: _Input | Sequence[_Input],
    device: str | None = None,
    seed: int = 0,
    license: str | None = None,
    overwrite: bool = False,
    resume: bool = False,
    report_to: str = "none",
    initial_model: _Input | None = None,
    model_source_lang: str | None = None,
    model_target_lang: str | None = None,
    task_prefix: str | None = None,
    architecture: str = "rnn_search",
    num_layers: int = 3,
    num_heads: int = 8,
    vocab_size: int = 8000,
    joint_vocabulary: bool = True,
    lower_case: bool = False,
    hidden_size: int = 512,
    embedding_size: int = 320,
    dropout: float | None = None,
    label_smoothing: float = 0.1,
    initialization: str = "xavier",
    share_embeddings: bool = True,
    epochs: float = 20.0,
    batch_size: int = 80,
    gradient_accumulation_steps: int = 1,
    optimizer: str = "adam",
    learning_rate: float | None = None,
    warmup_steps: int | None = None,
    freeze_embeddings: bool = False,
    evaluations: int = 20,
    max_words: int = 80,
    max_units: int | None = None,
    max_dev_pairs: int = 1000,
    precision: str = "auto",
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Trains a translation model on bitext, with the weights of the best dev BLEU at the end."""
