"""The explorer: one offline page to look at and play with, filled with recorded runs.

============== =====================================================================
`page`         one HTML file from template, styles, scripts and data
`facts`        what the page's formulas need of the catalog
`bill`         the memory bill, from the catalog's functions: what the page must equal
`mechanism`    keys that the NumPy transformer computed, and the work of each step
`recorded`     a run's spans, shares and requests as typed columns
`spans`        boxes of the memory map, merged, with the part inside the claim
`growth`       when each box fills, in steps
`stretch`      which part of a run the map shows, held to the ledger
`encode`       columns -> one gzipped blob that a browser reads as typed arrays
`questions`    check yourself: questions whose answers the simulator computed
============== =====================================================================

`assets` holds the page itself: plain HTML, CSS and JavaScript, no framework, nothing fetched.
"""

from __future__ import annotations

from wastesim.explorer.page import explorer_page, write_explorer

__all__ = ["explorer_page", "write_explorer"]
