"""What the gates of a GRAN let into the sentence (Gimpel et al., "Analyzing GRAN Gates").

An encoder and texts go in, plain or tagged; means of its gates by part of speech, dependency label and word, and
pictures of sentences come out. Start with `analysis`, the command `analyze gates`.
"""

from __future__ import annotations
