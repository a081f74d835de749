"""`evaluate --suite sts` and `--suite graded`: the cosine against human scores, nothing trained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..artefacts.measurements import Measurement
from ..errors import InputError, UsageError
from ..evaluation.graded_set import GradedSet, read_graded_folder
from ..evaluation.protocol_report import format_protocol
from ..evaluation.protocols import PAPER, PROTOCOLS, choose_protocols
from ..evaluation.report import NamedResult, format_report
from ..evaluation.scored_set import score_with_encoder, score_with_similarity
from ..evaluation.scorer import Scorer
from ..evaluation.sts import evaluate_scored
from ..evaluation.sts_files import find_sts_sets
from .evaluate_suite import Suite


class SimilaritySuite(Suite):
    """Correlates similarities with human scores, on all STS sets below a folder or on one graded data folder."""

    NAMES = ("sts", "graded")

    def check(self) -> None:
        """Checks the protocols."""
        self.folder = self.data_folder()
        self.protocols = self._protocols()
        self.sets: list[GradedSet] = []
        self.without_input: tuple[str, ...] = ()
        self.paths: list[Path] = []

    def read(self) -> None:
        """Reads the sets."""
        if self.name == "graded":
            self.sets, self.paths = [read_graded_folder(self.folder, self.arguments.split)], [self.folder]
            return
        found = find_sts_sets(self.folder)
        self.sets, self.without_input, self.paths = list(found.sets), found.without_input, list(found.paths)
        if not self.sets:
            raise InputError(
                "no STS set with both sentences and scores below this folder",
                path=self.folder,
                remedy="it needs files such as STS16-en-test/STS.input.headlines.txt and STS.gs.headlines.txt; for a "
                "data folder with a score: --suite graded --split SPLIT",
            )

    def measure(self, scorer: Scorer) -> NamedResult:
        """Computes the similarities once and applies every protocol to them."""
        scored = (
            score_with_encoder(scorer.encode, self.sets)
            if scorer.similarity is None
            else score_with_similarity(scorer.similarity, self.sets)
        )
        others = {protocol: PROTOCOLS[protocol](scored) for protocol in self.protocols if protocol != PAPER}
        return NamedResult(scorer.name, scorer.kind, evaluate_scored(scored), others)

    def report(self, results: Sequence[NamedResult]) -> str:
        """Lays out one table a protocol; one without data is only named, unless it was asked for."""
        tables, unused = [], []
        for protocol in self.protocols:
            if protocol == PAPER:
                means = self.name == "sts"
                tables.append(format_report(results, without_input=self.without_input, means=means))
            elif self.arguments.protocols or results[0].protocols[protocol].rows:
                tables.append(format_protocol(results, protocol))
            else:
                unused.append(protocol)
        if unused:
            tables.append(f"no data for the protocol{'s' if len(unused) > 1 else ''} {', '.join(unused)}\n")
        return "\n".join(tables)

    def results_of(self, result: NamedResult) -> dict[str, Any]:
        """Returns the papers' results and, for STS, those of the other protocols beside them."""
        protocols = {name: protocol.as_dict() for name, protocol in result.protocols.items()}
        return {**result.result.as_dict(), **({"protocols": protocols} if self.name == "sts" else {})}

    def measurements(self, result: NamedResult) -> list[Measurement]:
        """Lists what was measured."""
        return result.result.measurements()

    def about(self) -> dict[str, Any]:
        """Returns the protocol, and the sets of which only the scores are there."""
        return {
            "protocol": "Pearson and Spearman x 100 of cosine and human score per set; unweighted means over sets",
            "without_input": list(self.without_input),
        }

    def inputs(self) -> list[Path]:
        """Lists the files of the sets, or the graded folder."""
        return self.paths

    def evaluation(self, result: NamedResult, record: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Keeps the papers' sets and means."""
        found = record["results"][0]
        graded = self.name != "sts"
        name = f"evaluate graded {self.folder.resolve().name}/{self.arguments.split}" if graded else "evaluate sts"
        return name, {
            "kind": "evaluate",
            "suite": self.name,
            "protocol": record["protocol"],
            "sets": found["sets"],
            "means": {} if graded else found["means"],
            **{key: record[key] for key in ("without_input", "inputs", "settings", "versions")},
        }

    def _protocols(self) -> list[str]:
        requested = self.arguments.protocols
        if self.name != "sts":
            return [PAPER]
        names = [part.strip() for word in requested for part in word.split(",") if part.strip()]
        if requested and not names:
            raise UsageError("evaluate: --protocols is empty", remedy=f"give some of {', '.join((PAPER, *PROTOCOLS))}")
        return choose_protocols(names)
