"""Whether the card of a folder allows passing its data on: only by a licence that is known to allow it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..artefacts.card_heads import texts

# Licences under which changed copies may be passed on, some under conditions (attribution, same licence, no trade).
_FREE = re.compile(
    r"""
      cc0-1\.0 | pddl | unlicense | wtfpl | zlib | isc | mit | ncsa | postgresql | bsl-1\.0
    | cc-by(-nc)?(-sa)?(-(2\.0|2\.5|3\.0|4\.0))? | cc-by-3\.0-(us|igo|at)
    | odc-by | odbl | etalab-2\.0 | cdla-(sharing|permissive)-1\.0 | cdla-permissive-2\.0
    | apache-2\.0 | afl-3\.0 | artistic-2\.0 | ecl-2\.0 | osl-3\.0 | ms-pl
    | bsd | bsd-[23]-clause | bsd-3-clause-clear
    | mpl-2\.0 | epl-[12]\.0 | eupl-1\.[12] | lgpl(-(2\.1|3\.0))? | lgpl-lr | agpl-3\.0 | gpl(-(2\.0|3\.0))?
    | gfdl | ofl-1\.1 | lppl-1\.3c
    """,
    re.VERBOSE,
)


def refusal(head: Mapping[str, Any]) -> str | None:
    """Returns why the data of a card with this head may not be passed on, as a clause; None if it may.

    All licences of a card must allow it, also for changed copies: a prepared or filtered folder is one.
    """
    licences = [text.strip().lower() for text in texts(head.get("license"))]
    if not licences:
        return "its card states no licence"
    for licence in licences:
        if licence in {"other", "unknown"}:
            named = "".join(f" ({name})" for name in texts(head.get("license_name")))
            return f"its card states the licence `{licence}`{named}, which does not say whether it may be passed on"
        if re.search(r"(^|-)nd(-|$)", licence):
            return f"its licence `{licence}` forbids passing on changed copies"
        if not _FREE.fullmatch(licence):
            return f"its licence `{licence}` is not one that is known to allow passing it on"
    return None
