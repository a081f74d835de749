"""The settings of the recipe `mine`, and the files that it makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...artefacts.provenance import PROVENANCE
from ...data.text_blocks import COMPRESSED, PLAIN_OR_COMPRESSED
from ...errors import UsageError
from ...settings import seed_setting, setting
from ...training.devices import DeviceSettings
from .collections import LAYOUTS
from .embedding import EncoderFolders, FilterEncoderSettings
from .matching import MATCHINGS
from .scoring import COMBINATIONS, MARGINS


@dataclass(kw_only=True)
class MiningSettings(FilterEncoderSettings, DeviceSettings):
    """Find the translations between two collections of sentences, each in one language."""

    source: str = setting(f"text file of the source collection, {PLAIN_OR_COMPRESSED}", path=True)
    target: str = setting("text file of the target collection", path=True)
    output: str = setting(
        "the tab-separated file to make: score, source id, target id, source sentence, target sentence, the best first"
    )
    layout: str = setting(
        "lines: one sentence a line, whose number is its id; bucc: `id TAB sentence`, and the pairs are also written "
        "as `source id TAB target id` beside the output, with the suffix .gold",
        "lines",
        choices=LAYOUTS,
    )
    candidates: int = setting(
        "target sentences of the greatest cosine that are considered for a source sentence", 40, at_least=1
    )
    approximate: bool = setting(
        "search candidates in inverted lists instead of all targets; the share of the true candidates that "
        "are found is measured on a sample and printed",
        False,
    )
    probes: int = setting(
        "with --approximate: lists to read for a sentence; 0 = a sixteenth, at least 8",
        0,
        at_least=0,
        only_with="approximate",
    )
    margin: str | None = setting(
        "score a pair by its cosine against the mean cosine of the neighbourhoods of both sentences; ratio if no kind "
        "is named; absolute = the cosine",
        None,
        alone="ratio",
        choices=MARGINS,
    )
    neighbours: int = setting("with --margin: sentences in a neighbourhood", 4, at_least=1)
    scoring_encoder: str | None = setting(
        "folder of another encoder, for the cosine or margin of the score", None, path=True
    )
    source_scoring_encoder: str | None = setting("the same for the source language alone", None, path=True)
    target_scoring_encoder: str | None = setting("the same for the target language alone", None, path=True)
    classifier: str | None = setting(
        "folder of a classifier of parallel sentences, whose probability is the score; with --margin or "
        "--scoring-encoder it is combined with that score",
        None,
        path=True,
    )
    combine: str = setting("how two scores become one", "product", choices=COMBINATIONS)
    one_to_one: str | None = setting(
        "use no sentence twice: greedy takes pairs by falling score (what the bare flag means), exact those of the "
        "greatest total score",
        None,
        alone="greedy",
        choices=MATCHINGS,
    )
    threshold: float | None = setting("least score of a pair; without it and --tune-on all pairs are given", None)
    tune_on: str | None = setting(
        "choose the threshold with the best F1 on another pair of collections: PREFIX, of which the files are "
        "PREFIX.gold and PREFIX with the endings of --source and --target",
        None,
        excludes="threshold",
        prefix=True,
    )
    gold: str | None = setting(
        "file of the true pairs, `source id TAB target id`: precision, recall and F1 are printed",
        None,
        path=True,
    )
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256, at_least=1)
    seed: int = seed_setting("with --approximate: seed of the lists")
    resume: bool = setting("continue an incomplete run of the same command", False)
    overwrite: bool = setting("replace an existing output", False)

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if Path(self.output).suffix == ".gold" and self.layout == "bucc":
            raise UsageError(
                "--output cannot end in .gold", remedy="the ids alone are written beside it under that name"
            )
        self.filter_encoders()
        self.scoring_encoders()

    def scoring_encoders(self) -> EncoderFolders | None:
        """Returns the folders of the encoders of the score, None if it takes those that find the candidates."""
        flags = (self.scoring_encoder, self.source_scoring_encoder, self.target_scoring_encoder)
        return EncoderFolders.of(*flags, "scoring-encoder")

    def paths_made(self) -> list[str]:
        """Lists the files that are made."""
        return [str(path) for path in MinedFiles.of(self)]

    def inputs(self) -> list[str]:
        """Lists the files and folders that are read, each once."""
        scoring = self.scoring_encoders()
        paths = [self.source, self.target, *self.filter_encoders().folders, *(scoring.folders if scoring else [])]
        paths += [path for path in (self.classifier, self.gold) if path is not None]
        return list(dict.fromkeys([*paths, *self.tuning_files()]))

    def tuning_files(self) -> tuple[str, ...]:
        """Returns the source, target and gold file of --tune-on; none without it."""
        if self.tune_on is None:
            return ()
        endings = (_ending(self.source), _ending(self.target), ".gold")
        return tuple(self.tune_on + ending for ending in endings)


@dataclass(frozen=True)
class MinedFiles:
    """What appears in the end."""

    pairs: Path
    record: Path
    gold: Path | None

    @classmethod
    def of(cls, settings: MiningSettings) -> MinedFiles:
        """Names the files of an output."""
        pairs = Path(settings.output).expanduser()
        gold = pairs.with_suffix(".gold") if settings.layout == "bucc" else None
        return cls(pairs, pairs.with_name(f"{pairs.name}.{PROVENANCE}"), gold)

    def __iter__(self) -> Iterator[Path]:
        yield from (self.pairs, self.record, *([self.gold] if self.gold else []))


def _ending(path: str) -> str:
    suffixes = Path(path).suffixes
    return "".join(suffixes[-2:] if suffixes and suffixes[-1] in COMPRESSED else suffixes[-1:])
