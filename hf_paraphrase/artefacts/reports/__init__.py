"""`report.html`: what a folder says of itself, as one page for a browser, a phone and paper.

In comes what a run has recorded: the card, `provenance.json` and the pictures that the card names. Out comes one file
that loads nothing else. Start reading at `report`; `plots` draws loss, dev scores and histograms of a record as SVG.
"""
