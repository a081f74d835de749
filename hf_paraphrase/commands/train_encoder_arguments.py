"""The arguments of `train-encoder` and what must hold among them."""

from __future__ import annotations

from dataclasses import dataclass

from ..data.text_files import PLAIN_OR_COMPRESSED
from ..encoders.encoder_kinds import ENCODER_KINDS
from ..errors import UsageError
from ..settings import setting
from .prepare_reports import check_license

MODEL_OPTIONS = (
    "cell",
    "peepholes",
    "output_gate",
    "candidate_activation",
    "negative_slope",
    "bidirectional",
    "direction_merge",
    "pooling",
    "variational_dropout",
    "skip_unknown",
    "initial_distribution",
)
"""Settings that not every kind of encoder has; without a value they keep the model's own default."""
# As in `training.losses`, which needs torch.
_MARGINS = {"margin": 0.4, "contrastive": 0.5}


@dataclass
class Arguments:
    """Train a sentence encoder on paraphrase pairs with a margin loss (paper 000: Wieting, Mallinson, Gimpel 2017)."""

    pairs: str = setting(
        "data folder with the columns sentence1 and sentence2, or a bitext with source and target (split train)"
    )
    output: str = setting("the model folder to make")
    model_type: str = setting(
        "avg (mean of word vectors), gran (gated recurrent averaging network), recurrent (LSTM or GRU), trigram (mean "
        "of character-trigram vectors) or word-trigram (avg and trigram side by side)",
        "avg",
    )
    cell: str | None = setting(
        "recurrent cell: lstm (papers 000 and 001) or gru (paper 003) [default: lstm]", None, choices=["lstm", "gru"]
    )
    peepholes: bool | None = setting(
        "whether the gates of an lstm see its cell, as in the reference code; without, a faster kernel does the work "
        "[default: true]",
        None,
    )
    output_gate: bool | None = setting(
        "whether the lstm of a recurrent encoder has an output gate [default: true]", None
    )
    candidate_activation: str | None = setting(
        "function of the candidate state of a gru: leaky_relu (paper 003) or tanh (Cho et al. 2014) [default: "
        "leaky_relu]",
        None,
        choices=["leaky_relu", "tanh"],
    )
    negative_slope: float | None = setting(
        "slope of the leaky_relu below zero, on which paper 003 is silent [default: 0.2]", None
    )
    bidirectional: bool | None = setting("read in both directions [default: false]", None)
    direction_merge: str | None = setting(
        "how the states of two directions become one: concat or sum [default: concat]", None, choices=["concat", "sum"]
    )
    pooling: str | None = setting(
        "embedding of a recurrent encoder: its last state, or the mean of its states [default: last]",
        None,
        choices=["last", "mean"],
    )
    dev_data: str | None = setting(
        "folder with STS 2016 sets, with a graded data set, or a bitext whose split validation is retrieved, on which "
        "the epoch is chosen; without it the last is",
        None,
    )
    initial_vectors: str | None = setting(
        f"word vectors to start from: a file in the text layout of GloVe or word2vec, {PLAIN_OR_COMPRESSED}; a model "
        "folder with a table of them (ours, model2vec, StaticEmbedding); or the folder of another sentence encoder, "
        "which is distilled: it encodes every word of the vocabulary, and the principal components are kept",
        None,
    )
    initial_distribution: str | None = setting(
        "distribution of the random initial vectors of avg and trigram: normal with a standard deviation of 0.01, or "
        "uniform from -0.01 to 0.01 (paper 003) as those of a gru always are [default: normal]",
        None,
        choices=["normal", "uniform"],
    )
    frequency_weights: bool = setting(
        "multiply each initial vector by a / (a + p), p the word's share of the tokens of the pairs", False
    )
    frequency_constant: float | None = setting(
        "the a of --frequency-weights: a word with this share is halved [default: 0.001]", None
    )
    frequency_counts: str | None = setting(
        f"take p from this file instead: text, or lines of a word and its count, {PLAIN_OR_COMPRESSED}", None
    )
    skip_unknown: bool | None = setting(
        "leave unknown words out unless a sentence has no other; otherwise they share one trained vector that counts, "
        "as in paper 000 [default: false]",
        None,
    )
    tokenizer: str | None = setting(
        "folder of a fast tokenizer to use (train-tokenizer makes them) instead of one over the words of the pairs",
        None,
    )
    word_list: str | None = setting(
        "file of more words for the vocabulary, one a line (of a file of vectors or counts, the words): what a "
        "distilled encoder shall know beside the words of the pairs",
        None,
    )
    vocabulary_size: int = setting(
        "words in the vocabulary at most, and trigrams likewise; 0 for all",
        200_000,
        names=["--vocabulary-size", "--vocab-size"],
    )
    min_frequency: int = setting(
        "a word or trigram of the pairs enters the vocabulary if it occurs so many times (or has an initial vector)", 2
    )
    lower_case: bool = setting("lower-case all text", True, names=["--lower-case", "--lowercase"])
    split_contractions: bool = setting("split English contractions as the Penn Treebank does (do n't)", True)
    hidden_size: int | None = setting(
        "components of word vectors and embeddings, of word-trigram those of each half [default: as the initial "
        "vectors, 256 when they are distilled, 300 without any]",
        None,
    )
    epochs: float | None = setting(
        "passes over the pairs; 0 keeps the initial vectors untrained [default: 20 for avg, 3 for gran]", None
    )
    batch_size: int = setting("pairs in a batch on each process", 100)
    gradient_accumulation_steps: int = setting("batches in an update", 1)
    learning_rate: float = setting("learning rate of Adam, constant", 1e-3)
    loss: str = setting(
        "margin (paper 000: pairs and searched negatives) or contrastive (paper 003: pairs with a column label, "
        "1 for a paraphrase and 0 for another pair; margin leaves pairs labelled 0 out)",
        "margin",
        choices=["margin", "contrastive"],
    )
    margin: float | None = setting(
        "margin of the loss, a difference of cosines [default: 0.4, of the contrastive loss 0.5]", None
    )
    negatives: str = setting("negatives: max (the most similar of the batch), random, or mix (a coin's choice)", "max")
    negatives_from: str = setting("take them from both sides of other pairs, or from the opposite side", "both")
    mega_batch_size: int = setting(
        "mini-batches that are pooled and encoded once to choose negatives among them all; 1 is the batch alone", 1
    )
    mega_batch_anneal: int = setting(
        "let the mega-batch grow by one mini-batch, from 1, after every so many mini-batches; 0 for a constant size", 0
    )
    expansion: str | None = setting(
        "train on expansions too, sentences with some words replaced by their definitions (paper 004): folder with "
        "WordNet 3.0 or 3.1, or auto to look for it as expand does",
        None,
    )
    expansion_share: float | None = setting(
        "pairs of a sentence and its expansion that join the pairs, for each of these, 0 to 2 [default: 0.25, and 0 "
        "with --expansion-weight]",
        None,
    )
    expansion_weight: float = setting(
        "weight of the compositionality loss, the mean of 1 - cos between the sentences and their expansions", 0.0
    )
    expansion_words: float = setting("share of the expandable words of a sentence to expand, but at least one", 0.3)
    expansion_variants: int = setting("different expansions of a sentence, which the epochs take in turn", 4)
    expansion_decontaminate: list[str] = setting(
        "evaluation files or folders, or lists of fingerprints: definitions in them are not used; the sets OnWN and "
        "FNWN of STS 2012 to 2014 are made of WordNet's definitions",
        [],
    )
    dropout: float = setting("probability to drop a component of a word vector", 0.0)
    word_dropout: float = setting("probability to drop a whole word; excludes --dropout", 0.0)
    variational_dropout: float | None = setting(
        "probability to drop a component of a recurrent encoder's input or state, the same ones at every step of a "
        "sentence [default: 0]",
        None,
    )
    scramble: float = setting("probability to scramble the words of a pair, drawn each epoch", 0.0)
    lambda_c: float = setting("weight of half the squared norm of all parameters but the word vectors", 0.0)
    lambda_w: float = setting("weight of half the squared distance of the word vectors from their start", 0.0)
    max_grad_norm: float = setting("clip the norm of the gradient to this; 0 does not clip", 0.0)
    dense_optimizer: bool = setting(
        "Adam over the whole table of word vectors in every step, also over words that are not in the batch: slower, "
        "and rare words go on moving after each occurrence",
        False,
    )
    evaluations_per_epoch: int = setting("dev scores and checkpoints in an epoch", 1)
    precision: str = setting(
        "arithmetic of the forward pass, dev scores included: fp32, or bf16 where it is safe; weights and the loss "
        "stay fp32",
        "fp32",
        choices=["fp32", "bf16"],
    )
    max_pairs: int | None = setting("train on a random sample of so many pairs", None)
    seed: int = setting("seed of the sample, the initial weights, the order, dropout and scrambling", 0)
    report_to: str = setting("where the Trainer logs to, e.g. tensorboard; none for nowhere", "none")
    license: str | None = setting(
        "the licence of the model for the card, as the Hub spells it, e.g. apache-2.0 [default: none is claimed]", None
    )
    overwrite: bool = setting("replace an existing output folder", False)
    resume: bool = setting("continue a run that was interrupted, with the same result", False)


def _check_vocabulary(arguments: Arguments) -> None:
    given = [
        name
        for name in ("frequency_constant", "frequency_counts")
        if getattr(arguments, name) is not None and not arguments.frequency_weights
    ]
    if given:
        raise UsageError(
            f"--{given[0].replace('_', '-')} is for --frequency-weights", remedy="give that too, or leave it out"
        )
    if arguments.frequency_constant is not None and not arguments.frequency_constant > 0:
        raise UsageError(f"--frequency-constant must be above 0, not {arguments.frequency_constant}")
    if not ENCODER_KINDS[arguments.model_type].words:
        for name in ("tokenizer", "word_list", "initial_vectors", "frequency_weights", "split_contractions"):
            if getattr(arguments, name) != Arguments.__dataclass_fields__[name].default:
                raise UsageError(
                    f"--{name.replace('_', '-')} is for words, and --model-type {arguments.model_type} has none",
                    remedy="leave it out",
                )
    if arguments.tokenizer is None:
        return
    for name in ("vocabulary_size", "min_frequency", "lower_case", "split_contractions", "word_list"):
        if getattr(arguments, name) != Arguments.__dataclass_fields__[name].default:
            raise UsageError(
                f"--{name.replace('_', '-')} and --tokenizer exclude each other: the tokenizer has its vocabulary",
                remedy="leave one of them out",
            )


def _check_expansion(arguments: Arguments) -> None:
    if arguments.expansion is None:
        for name in ("expansion_share", "expansion_weight", "expansion_words", "expansion_variants"):
            if getattr(arguments, name) != Arguments.__dataclass_fields__[name].default:
                raise UsageError(
                    f"--{name.replace('_', '-')} is for --expansion", remedy="give that too, or leave it out"
                )
        if arguments.expansion_decontaminate:
            raise UsageError("--expansion-decontaminate is for --expansion", remedy="give that too, or leave it out")
        return
    if not arguments.expansion_weight >= 0:
        raise UsageError(f"--expansion-weight must not be negative, not {arguments.expansion_weight}")
    if arguments.expansion_share is None:
        arguments.expansion_share = 0.0 if arguments.expansion_weight > 0 else 0.25
    if not 0 <= arguments.expansion_share <= 2:
        raise UsageError(f"--expansion-share must be between 0 and 2, not {arguments.expansion_share}")
    if not 0 <= arguments.expansion_words <= 1:
        raise UsageError(f"--expansion-words must be between 0 and 1, not {arguments.expansion_words}")
    if arguments.expansion_variants < 1:
        raise UsageError(f"--expansion-variants must be at least 1, not {arguments.expansion_variants}")
    if not arguments.expansion_share and not arguments.expansion_weight:
        raise UsageError(
            "--expansion changes nothing with a share and a weight of 0", remedy="raise one of them, or leave it out"
        )


def check(arguments: Arguments) -> None:
    """Refuses arguments that do not fit, and puts the defaults that depend on others in their places.

    Raises:
        UsageError: For a value out of range, and for one that another argument excludes.
    """
    check_license(arguments.license)
    choices = {
        "model_type": tuple(ENCODER_KINDS),
        "negatives": ("max", "random", "mix"),
        "negatives_from": ("both", "opposite"),
    }
    for name, allowed in choices.items():
        value = getattr(arguments, name)
        if value not in allowed:
            raise UsageError(f"--{name.replace('_', '-')} `{value}` is unknown", remedy=f"one of {', '.join(allowed)}")
    options = ENCODER_KINDS[arguments.model_type].options
    for name in MODEL_OPTIONS:
        if getattr(arguments, name) is not None and name not in options:
            able = [kind for kind, found in ENCODER_KINDS.items() if name in found.options]
            raise UsageError(
                f"--{name.replace('_', '-')} is not for --model-type {arguments.model_type}",
                remedy=f"leave it out, or train {' or '.join(able)}",
            )
    for name in ("peepholes", "output_gate"):
        if getattr(arguments, name) is not None and arguments.cell == "gru":
            raise UsageError(f"--{name.replace('_', '-')} is for --cell lstm", remedy="leave it out")
    for name in ("candidate_activation", "negative_slope"):
        if getattr(arguments, name) is not None and arguments.cell != "gru":
            raise UsageError(f"--{name.replace('_', '-')} is for --cell gru", remedy="give that too, or leave it out")
    slope = arguments.negative_slope
    if slope is not None and (not 0 <= slope < 1 or arguments.candidate_activation == "tanh"):
        raise UsageError(
            f"--negative-slope is {slope}",
            remedy="give at least 0 and below 1, with the candidate activation leaky_relu",
        )
    if arguments.direction_merge is not None and not arguments.bidirectional:
        raise UsageError("--direction-merge is for --bidirectional true", remedy="leave it out")
    size = arguments.hidden_size
    if arguments.bidirectional and arguments.direction_merge != "sum" and size is not None and size % 2:
        raise UsageError(f"--hidden-size {size} cannot be halved for two directions", remedy="give an even one")
    positive = ("batch_size", "learning_rate", "hidden_size", "min_frequency", "max_pairs")
    for name in (*positive, "evaluations_per_epoch", "mega_batch_size", "gradient_accumulation_steps"):
        value = getattr(arguments, name)
        if value is not None and not value > 0:
            raise UsageError(f"--{name.replace('_', '-')} must be above 0, not {value}")
    not_negative = ("epochs", "margin", "lambda_c", "lambda_w", "max_grad_norm", "vocabulary_size", "seed")
    for name in (*not_negative, "mega_batch_anneal"):
        value = getattr(arguments, name)
        if value is not None and not value >= 0:
            raise UsageError(f"--{name.replace('_', '-')} must not be negative, not {value}")
    for name in ("dropout", "word_dropout", "variational_dropout"):
        if not 0 <= (getattr(arguments, name) or 0.0) < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be at least 0 and below 1")
    if not 0 <= arguments.scramble <= 1:
        raise UsageError("--scramble must be between 0 and 1")
    if sum(bool(getattr(arguments, name)) for name in ("dropout", "word_dropout", "variational_dropout")) > 1:
        raise UsageError(
            "--dropout, --word-dropout and --variational-dropout exclude each other", remedy="give one of them"
        )
    if arguments.mega_batch_anneal and arguments.mega_batch_size == 1:
        raise UsageError(
            "--mega-batch-anneal needs a size to grow to", remedy="give --mega-batch-size above 1, or leave it out"
        )
    _check_vocabulary(arguments)
    _check_expansion(arguments)
    if arguments.loss == "contrastive":
        searched = ("negatives", "negatives_from", "mega_batch_size", "mega_batch_anneal")
        given = [name for name in searched if getattr(arguments, name) != Arguments.__dataclass_fields__[name].default]
        if given:
            raise UsageError(
                f"--{given[0].replace('_', '-')} is for --loss margin: the contrastive loss searches no negatives",
                remedy="leave it out",
            )
    if arguments.margin is None:
        arguments.margin = _MARGINS[arguments.loss]
    if arguments.epochs is None:
        arguments.epochs = ENCODER_KINDS[arguments.model_type].epochs
