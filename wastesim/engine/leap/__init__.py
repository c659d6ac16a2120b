"""A run whose cost is per request and not per token: leaps from one happening to the next.

It gives the rows that the ticks of `engine.server` give, to the last cell and the last bit of
time; `tests/properties/test_two_speeds.py` compares them.

========= ===============================================================================
`server`  the loop, a stretch of ticks at a time; read it first
`by_job`  such a stretch under any policy; `by_slot` in equal slots, `by_block` of paged blocks
`crowd`   many who wait for slots, at once; `block_crowd` who wait for blocks
`rules`   the schedulers
`running` who runs, and who ends when
`line`    who waits; `gate` lets them in
`pool`    what is asked of memory: `placed` asks any policy, `blocks` counts blocks
`clocks`  times of many ticks
`tables`  from stretches to rows of ticks; `requests` from jobs to rows of requests
`build`   when a run can leap, and what of
========= ===============================================================================
"""

from __future__ import annotations

from wastesim.engine.leap.build import leap_server, why_not
from wastesim.engine.leap.server import LeapServer

__all__ = ["LeapServer", "leap_server", "why_not"]
