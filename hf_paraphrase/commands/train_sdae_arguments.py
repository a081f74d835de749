"""The arguments of `train-sdae` and what must hold among them."""

from __future__ import annotations

from dataclasses import dataclass

from ..data.text_files import PLAIN_OR_COMPRESSED
from ..errors import UsageError
from ..settings import setting
from .prepare_reports import check_license

_POSITIVE = (
    "max_steps",
    "batch_size",
    "learning_rate",
    "hidden_size",
    "embedding_size",
    "readout_size",
    "min_frequency",
    "max_words",
    "max_sentences",
    "dev_size",
    "evaluations",
)
_NOT_NEGATIVE = ("max_grad_norm", "expansion_weight", "vocabulary_size", "seed")
_OF_EXPANSION = ("expansion_use", "expansion_share", "expansion_weight")


@dataclass
class Arguments:
    """Train a sequential denoising autoencoder on plain text (Hill, Cho and Korhonen 2016; paper 004).

    A GRU reads a sentence to which noise was added, and its last state is the sentence embedding; a second GRU says
    the sentence again as it was. What comes out is a sentence encoder for `encode`, `evaluate` and all other readers.
    """

    output: str = setting("the model folder to make")
    text: list[str] = setting(f"text files, one sentence a line, {PLAIN_OR_COMPRESSED}", [])
    pairs: list[str] = setting("data folders whose sentences (split train) are the text, or more of it", [])
    columns: list[str] = setting(
        "the columns of --pairs that hold sentences, separated by commas or spaces, e.g. target for the target side "
        "of a bitext",
        ["sentence1", "sentence2"],
    )
    noise: str = setting(
        "delete (the paper: each word with probability --drop, then bigrams swapped with --swap) or mask (the "
        "authors' code: --drop of the words become unknown, then swaps at --swap of the places)",
        "delete",
        choices=["delete", "mask"],
    )
    drop: float = setting("share of the words that are deleted or masked, drawn each epoch", 0.1)
    swap: float = setting("share of the neighbours that are swapped, drawn each epoch", 0.1)
    expansion: str | None = setting(
        "a WordNet folder, or auto to look for it as expand does: words are replaced by their definitions, drawn each "
        "epoch (paper 004, section 2.1)",
        None,
    )
    expansion_use: str | None = setting(
        "noise (the expanded sentence is read, with noise, and the original is to be said) or regulariser (the "
        "embeddings of both are drawn together) [default: noise]",
        None,
        choices=["noise", "regulariser"],
    )
    expansion_share: float | None = setting(
        "share of the words with a definition that are replaced [default: 0.3]", None
    )
    expansion_decontaminate: list[str] = setting(
        "evaluation files or folders, or lists of fingerprints: definitions in them are not used; the sets OnWN and "
        "FNWN of STS 2012 to 2014 are made of WordNet's definitions",
        [],
    )
    expansion_weight: float | None = setting(
        "weight of 1 - cos(original, expanded) in the loss, beside a reconstruction loss that is summed over the "
        "words of a sentence (paper 004 does not say how much) [default: 1]",
        None,
    )
    hidden_size: int = setting("components of the sentence embedding, and states of both GRUs (paper: 2400)", 600)
    embedding_size: int | None = setting(
        "components of a word vector [default: as the initial vectors, else 100]", None
    )
    readout_size: int | None = setting(
        "components of a linear layer before the softmax over the vocabulary, which saves time where the hidden size "
        "is large [default: no such layer, as in the authors' code]",
        None,
    )
    initialization: str = setting(
        "initial matrices: xavier, or reference (the authors' code: N(0, 0.01), which learns more slowly at first); "
        "those of the recurrence are orthogonal",
        "xavier",
        choices=["xavier", "reference"],
    )
    initial_vectors: str | None = setting(
        f"word vectors to start from: a file in the text layout of GloVe or word2vec, {PLAIN_OR_COMPRESSED}; a model "
        "folder with a table of them; or the folder of another sentence encoder, which is distilled",
        None,
    )
    fixed_vectors: bool = setting(
        "leave the initial vectors as they are; the decoder then has a table of its own, as in the authors' code",
        False,
    )
    tokenizer: str | None = setting(
        "folder of a fast tokenizer to use (train-tokenizer makes them) instead of one over the words of the text",
        None,
    )
    vocabulary_size: int = setting(
        "words in the vocabulary at most; 0 for all", 30_000, names=["--vocabulary-size", "--vocab-size"]
    )
    min_frequency: int = setting(
        "a word of the text enters the vocabulary if it occurs so many times (or has an initial vector)", 2
    )
    lower_case: bool = setting("lower-case all text", True, names=["--lower-case", "--lowercase"])
    split_contractions: bool = setting("split English contractions as the Penn Treebank does (do n't)", True)
    max_words: int = setting("sentences of more words are left out", 100)
    max_sentences: int | None = setting("train on a random sample of so many sentences", None)
    dev_size: int = setting("sentences, drawn at random, that are held out to measure the reconstruction loss", 1000)
    max_steps: int = setting("updates (paper: 300,000 of 16 sentences)", 10_000)
    batch_size: int = setting("sentences in a batch on each process (paper: 16)", 64)
    learning_rate: float = setting("learning rate of Adam, constant", 2e-4)
    max_grad_norm: float = setting("clip the norm of the gradient to this; 0 does not clip", 2.0)
    evaluations: int = setting("dev losses and checkpoints, evenly spread over the updates", 10)
    precision: str = setting(
        "fp32; bf16: matrix products in bfloat16, weights, states and the loss in fp32; auto: bf16 where the machine "
        "multiplies it in hardware",
        "auto",
        choices=["auto", "bf16", "fp32"],
    )
    keep_decoder: bool = setting(
        "write the decoder too; it is most of the parameters, and embedding sentences does not need it", False
    )
    seed: int = setting("seed of the samples, the initial weights, the order, noise and expansion", 0)
    report_to: str = setting("where the Trainer logs to, e.g. tensorboard; none for nowhere", "none")
    license: str | None = setting(
        "the licence of the model for the card, as the Hub spells it, e.g. apache-2.0 [default: none is claimed]", None
    )
    overwrite: bool = setting("replace an existing output folder", False)
    resume: bool = setting("continue a run that was interrupted, with the same result", False)


def check(arguments: Arguments) -> None:
    """Refuses arguments that do not fit, and puts the defaults that depend on others in their places.

    Raises:
        UsageError: For a value out of range, and for one that another argument excludes or needs.
    """
    check_license(arguments.license)
    if not arguments.text and not arguments.pairs:
        raise UsageError("train-sdae: no text", remedy="give --text FILE… or --pairs DIR…")
    if arguments.pairs and not arguments.columns:
        raise UsageError("--columns names no column of --pairs", remedy="e.g. --columns target")
    for name in _POSITIVE:
        value = getattr(arguments, name)
        if value is not None and not value > 0:
            raise UsageError(f"--{name.replace('_', '-')} must be above 0, not {value}")
    for name in _NOT_NEGATIVE:
        value = getattr(arguments, name)
        if value is not None and not value >= 0:
            raise UsageError(f"--{name.replace('_', '-')} must not be negative, not {value}")
    for name in ("drop", "swap", "expansion_share"):
        value = getattr(arguments, name)
        if value is not None and not 0 <= value <= 1:
            raise UsageError(f"--{name.replace('_', '-')} must be between 0 and 1, not {value}")
    if arguments.max_words < 2:
        raise UsageError("--max-words must be at least 2: shorter sentences are left out")
    _check_expansion(arguments)
    if arguments.fixed_vectors and arguments.initial_vectors is None:
        raise UsageError("--fixed-vectors needs vectors", remedy="give --initial-vectors as well, or leave it out")
    if arguments.tokenizer is None:
        return
    for name in ("vocabulary_size", "min_frequency", "lower_case", "split_contractions"):
        if getattr(arguments, name) != Arguments.__dataclass_fields__[name].default:
            raise UsageError(
                f"--{name.replace('_', '-')} and --tokenizer exclude each other: the tokenizer has its vocabulary",
                remedy="leave one of them out",
            )


def _check_expansion(arguments: Arguments) -> None:
    if arguments.expansion is None:
        for name in _OF_EXPANSION:
            if getattr(arguments, name) is not None:
                raise UsageError(
                    f"--{name.replace('_', '-')} is for --expansion",
                    remedy="give a WordNet folder as --expansion, or leave it out",
                )
        if arguments.expansion_decontaminate:
            raise UsageError("--expansion-decontaminate is for --expansion", remedy="give that too, or leave it out")
        return
    arguments.expansion_use = arguments.expansion_use or "noise"
    if arguments.expansion_weight is not None and arguments.expansion_use == "noise":
        raise UsageError(
            "--expansion-weight is for --expansion-use regulariser: as a noise, expansion has no weight",
            remedy="leave it out, or give --expansion-use regulariser",
        )
    if arguments.expansion_share is None:
        from ..studies.expansion.expander import SHARE

        arguments.expansion_share = SHARE
    if arguments.expansion_weight is None and arguments.expansion_use == "regulariser":
        arguments.expansion_weight = 1.0
