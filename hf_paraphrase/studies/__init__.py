"""One room a study: what only one of the papers 001 to 004 needs, with all that belongs to it."""

from __future__ import annotations
