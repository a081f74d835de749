"""Training of encoders and classifiers from Python, on the Trainer of transformers.

For a sentence encoder: `word_level_vocabulary` makes a tokenizer and `new_encoder` a model (or bring your own),
`encode_pairs` reads the pairs of a data folder, and `EncoderTrainer` with its `EncoderTrainingArguments` trains and
saves. The other trainers are those of the verbs `train-classifier`, `train-parallel-classifier`, `train-sdae` and
`train-supervised`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_attributes

if TYPE_CHECKING:
    from .arguments import EncoderTrainingArguments as EncoderTrainingArguments
    from .classifier_trainer import ClassifierTrainer as ClassifierTrainer
    from .classifier_trainer import ClassifierTrainingArguments as ClassifierTrainingArguments
    from .encoder_kinds import new_encoder as new_encoder
    from .encoder_vocabulary import EncoderVocabulary as EncoderVocabulary
    from .encoder_vocabulary import word_level_vocabulary as word_level_vocabulary
    from .pairs import EncodedPairs as EncodedPairs
    from .pairs import encode_pairs as encode_pairs
    from .pairs import iterate_pairs as iterate_pairs
    from .parallel_trainer import ParallelTrainer as ParallelTrainer
    from .parallel_trainer import ParallelTrainingArguments as ParallelTrainingArguments
    from .sdae_trainer import SdaeTrainer as SdaeTrainer
    from .sdae_trainer import SdaeTrainingArguments as SdaeTrainingArguments
    from .supervised_trainer import SupervisedTrainer as SupervisedTrainer
    from .supervised_trainer import SupervisedTrainingArguments as SupervisedTrainingArguments
    from .trainer import EncoderTrainer as EncoderTrainer

_MODULE_OF = {
    "EncoderTrainingArguments": ".arguments",
    "ClassifierTrainer": ".classifier_trainer",
    "ClassifierTrainingArguments": ".classifier_trainer",
    "new_encoder": ".encoder_kinds",
    "EncoderVocabulary": ".encoder_vocabulary",
    "word_level_vocabulary": ".encoder_vocabulary",
    "EncodedPairs": ".pairs",
    "encode_pairs": ".pairs",
    "iterate_pairs": ".pairs",
    "ParallelTrainer": ".parallel_trainer",
    "ParallelTrainingArguments": ".parallel_trainer",
    "SdaeTrainer": ".sdae_trainer",
    "SdaeTrainingArguments": ".sdae_trainer",
    "SupervisedTrainer": ".supervised_trainer",
    "SupervisedTrainingArguments": ".supervised_trainer",
    "EncoderTrainer": ".trainer",
}

__all__ = [*_MODULE_OF]


__getattr__, __dir__ = lazy_attributes(__name__, _MODULE_OF)
