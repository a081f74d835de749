"""Analyzes the gates of a GRAN (Gimpel et al., "Analyzing GRAN Gates").

The input is an encoder and plain or tagged texts; the output are means of its gates by part of speech, dependency
label and word, and pictures of sentences. Start with `analysis`, the command `analyze gates`.
"""

from __future__ import annotations
