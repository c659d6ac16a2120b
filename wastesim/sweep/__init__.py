"""Many runs of one experiment: planned, run anywhere, kept as they come, never twice.

A run is written when it is done, to a file named by the digest of everything it depends on, so
that whatever stops a sweep, only the runs in flight are lost.

=========== ====================================================================
`plan`      from `sweep:` to cells and runs, with their seeds and digests
`work`      one run, in whatever process it is given to
`executors` serial, processes, or a Dask cluster
`runner`    keeps executors busy, outlives workers that die, and stops when asked
`store`     the folder: what is done, who works in it
`resuming`  whether a folder is of the experiment that is to go on
`search`    probes of one key instead of a plan: bisection, golden section
`results`   cells from runs, with intervals, for the report
`command`   what the verbs call
=========== ====================================================================
"""
