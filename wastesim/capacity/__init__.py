"""`python -m wastesim.capacity`: how many requests fit, every term with its arithmetic.

============== =====================================================================
`cli`          options, and which of the modes below they ask for
`asking`       from options to a `Question`
`question`     `Question` -> `Answer`: numbers only, each from `catalog`
`lines`        the answer in words, term by term (`slot_lines`: llama.cpp's layouts)
`table`        many models and contexts
`expected`     with lengths: the concurrency of policies that have a closed form
`study`        `study: capacity`: the same answer as a result folder
`logs`         start-up lines of engines -> `LogFacts`
`hypotheses`   which model, ranks, type and units a log fits
`explain`      by what factor a hand formula is off, and its likely mistake
============== =====================================================================
"""

from __future__ import annotations

from wastesim.capacity.cli import main
from wastesim.capacity.question import Answer, Question, answer

__all__ = ["Answer", "Question", "answer", "main"]
