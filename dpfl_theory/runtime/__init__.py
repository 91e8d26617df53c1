"""Running work: where it runs, how long, what is kept of it, and how files are written.

* `executor`: pieces of work in this process, in several (`pools`), or on the workers of a cluster (`dask_cluster`);
* `time_limits`: an end after a number of seconds; `interrupts`: an end by Ctrl-C;
* `cache`: the file of results, their `keys`, and the place of one result (`slots`);
* `sources`: the hash of all that a result depends on, by the `imports` of its modules and the `versions` of libraries;
* `cached_calls`: calls whose results are cached;
* `atomic_files`: files that are written whole or not at all;
* `evidence_table` and `forecast`: what was measured before, and the time left; `recorded_warnings`: warnings as data.
"""
