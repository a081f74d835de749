"""`report.html`: what a folder says of itself, as one page for a browser, a phone and paper.

In comes what a run has recorded anyway: the card, `provenance.json` and the pictures that the card names. Out comes
one file that needs no other one and no network. `report.py` puts it together with the template `report.html`;
`recorded_plots.py` chooses what of a record is drawn, `plots.py` draws it as SVG, and `markdown_page.py` lays out
the card.
"""
