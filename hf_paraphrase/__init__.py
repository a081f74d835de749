"""Paraphrase data from bitext and small, fast sentence embeddings, native to the Hugging Face libraries.

Public names are imported at first use. The Auto classes of transformers open models of this package if they were
imported before it, or after an import of the model's class, or after `register()`.
"""

from __future__ import annotations

from .models.registry import register_if_loaded
from .registry import lazy_exports

__version__ = "0.3.0"


__getattr__, __dir__, _names = lazy_exports(
    __name__,
    {
        "classification.predict": ["predict"],
        "classification.classifier": ["ReferenceScorer"],
        "classification.train": ["train_classifier", "train_supervised"],
        "data.decontamination": ["Decontaminator", "fingerprint"],
        "data.folder": ["DataFolder"],
        "data.sources.bitext": ["prepare_bitext"],
        "data.rows": ["open_rows"],
        "data.sources.loading": ["load_dataset"],
        "data.sources.pairs": ["prepare_pairs"],
        "data.sources.pivot": ["prepare_pivot"],
        "data.sources.preparation": ["prepare"],
        "deduplication.deduplicate": ["deduplicate"],
        "demo.run": ["launch_demo"],
        "encoders.distillation.run": ["distill"],
        "encoders.encode_file": ["SentenceEmbedder", "encode"],
        "encoders.join": ["join"],
        "encoders.sentence_encoder": ["SentenceEncoder"],
        "encoders.train": ["train_encoder"],
        "vectors.storage": ["quantize_embeddings"],
        "errors": ["HfParaphraseError", "HubError", "InputError", "ModelError", "OutputError", "UsageError"],
        "evaluation.run": ["evaluate"],
        "exporting.run": ["export"],
        "filtering.filter": ["filter"],
        "filtering.measuring": ["Measures", "PairScorer"],
        "filtering.filter_pipeline": ["PairFilter"],
        "filtering.scoring": ["score"],
        "filtering.tuning.grid_search": ["tune"],
        "hub.publishing": ["push"],
        "mining.mine": ["mine"],
        "models": [
            "AvgConfig",
            "AvgModel",
            "GranConfig",
            "GranModel",
            "ParallelBiGruConfig",
            "ParallelBiGruModel",
            "RecurrentConfig",
            "RecurrentModel",
            "RnnSearchConfig",
            "RnnSearchForConditionalGeneration",
            "SdaeConfig",
            "SdaeModel",
            "SentenceClassifier",
            "SentenceClassifierConfig",
        ],
        "models.registry": ["register"],
        "paraphrasing.paraphraser": ["Paraphraser"],
        "paraphrasing.run": ["paraphrase", "paraphrase_file"],
        "quickstart_pipeline": ["quickstart"],
        "searching.index": ["SearchIndex"],
        "searching.run": ["search"],
        "searching.semantic_search": ["paraphrase_mining", "semantic_search"],
        "searching.server": ["serve"],
        "studies.analysis.pairs": ["analyze_pairs"],
        "studies.detection.human_scores": ["analyze_human_scores"],
        "studies.detection.neighbours": ["analyze_neighbours"],
        "studies.detection.similarities": ["analyze_similarities"],
        "studies.expansion.expander": ["expand"],
        "studies.gates.analysis": ["analyze_gates"],
        "studies.mining.bilingual_training": ["train_bilingual_vectors"],
        "studies.mining.evaluation": ["evaluate_mining"],
        "studies.mining.parallel_training": ["train_parallel_classifier"],
        "studies.sdae.training": ["train_sdae"],
        "tokenization.train": ["train_tokenizer"],
        "training.devices": ["env"],
        "translation.back_translation": ["BackTranslator", "back_translate"],
        "translation.evaluate": ["evaluate_nmt"],
        "translation.lexical_table": ["lexical_table"],
        "translation.search_settings": ["BeamSearchConfig"],
        "translation.train": ["train_nmt"],
    },
)
__all__ = ["__version__", *_names]

register_if_loaded()
