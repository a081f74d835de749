"""Checks of folders and files that others made, before a library opens them: sizes, names, links and shapes."""

from __future__ import annotations
