"""The results directory: packs of rows, committed atomically, seen through DuckDB views.

A file of rows never changes once it has its name, which holds a digest of its bytes. This makes commits idempotent, lets readers
work without locks, and lets a compaction run at the same time as both.
Besides declarations, console and stats, this package depends only on numpy, pyarrow, duckdb and obstore; its `sharing` also on
the tracker that it writes to.
"""
