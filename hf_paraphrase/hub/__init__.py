"""What makes an output folder a normal citizen of the Hub: whole folders, provenance and cards."""

from __future__ import annotations
