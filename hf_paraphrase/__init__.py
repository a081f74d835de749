"""Paraphrase data from bitext and small, fast sentence embeddings, native to the Hugging Face libraries.

Public names are imported at first use; `register()` makes the Auto classes of transformers know the models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .registry import lazy_exports

__version__ = "0.3.0.dev0"

if TYPE_CHECKING:
    from .classification.predict import predict
    from .classification.reference_scorer import ReferenceScorer
    from .classification.train import train_supervised
    from .classification.train_reference import train_reference_classifier
    from .data.decontamination import Decontaminator, fingerprint
    from .data.folder import DataFolder
    from .data.sources.bitext import prepare_bitext
    from .data.sources.pairs import prepare_pairs
    from .data.sources.pivot import prepare_pivot
    from .data.sources.preparation import prepare
    from .deduplication.deduplicate import deduplicate, deduplicate_files
    from .demo.run import launch_demo
    from .encoders.distillation.run import distill
    from .encoders.encode_file import SentenceEmbedder, encode
    from .encoders.join import join_encoders
    from .encoders.sentence_encoder import SentenceEncoder
    from .encoders.train import train_encoder
    from .encoders.vectors import quantize_embeddings
    from .errors import HfParaphraseError, HubError, InputError, ModelError, OutputError, UsageError
    from .evaluation.run import evaluate
    from .export.run import export_encoder
    from .filtering.filter import filter_pairs
    from .filtering.measuring import Measures, PairScorer
    from .filtering.row_choice import PairFilter
    from .filtering.scoring import score
    from .filtering.tuning.grid_search import tune
    from .hub.publishing import push
    from .mining.mine import mine
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
    from .paraphrasing.paraphraser import Paraphraser, paraphrase, paraphrase_file
    from .quickstart_run import quickstart
    from .searching.index import SearchIndex
    from .searching.run import search
    from .searching.semantic_search import paraphrase_mining, semantic_search
    from .searching.server import serve
    from .studies.analysis.pairs import analyze_pairs
    from .studies.detection.human_scores import analyze_human_scores
    from .studies.detection.neighbours import analyze_neighbours
    from .studies.detection.similarities import analyze_similarities
    from .studies.expansion.expander import expand
    from .studies.gates.analysis import analyze_gates
    from .studies.mining.bilingual_training import train_bilingual_vectors
    from .studies.mining.evaluation import evaluate_mining
    from .studies.mining.parallel_training import train_parallel_classifier
    from .studies.sdae.training import train_sdae
    from .tokenization.train import train_tokenizer
    from .training.devices import environment
    from .translation.back_translation import BackTranslator, back_translate
    from .translation.evaluate import evaluate_translation
    from .translation.lexical_table import estimate_lexical_table
    from .translation.search_settings import SearchOptions
    from .translation.train import train_translation

__getattr__, __dir__, _names = lazy_exports(__name__)
__all__ = ["__version__", *_names]
