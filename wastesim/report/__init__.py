"""From records to pages, pictures and a summary on the terminal.

A report is made from records alone: nothing here knows the engine, an allocator or the decode.
Read `write` first; `answer` owns the sentence that everything else repeats.

============== ==================================================================
`answer`       the answer in words, the same on every surface
`advice`       what to change, by closed forms of the run's own requests
`content`      everything a report says, gathered once
`definitions`  what each number means
`pages`        HTML and Markdown, set from the content
`figures`      the pictures, each in its own file
`palette`      one colour per share, light and dark
`terminal`     the summary a run ends with
============== ==================================================================
"""

from __future__ import annotations

from wastesim.report.terminal import print_summary
from wastesim.report.write import write_report

__all__ = ["print_summary", "write_report"]
