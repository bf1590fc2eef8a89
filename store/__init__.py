"""The results directory: packs of rows, committed atomically, seen through DuckDB views.

Files never change once they have their name (a digest of their bytes is part of it). This makes commits idempotent, lets readers
work without locks, and lets a compaction run beside both.
Beside `declarations` and `console`, this package knows pyarrow, duckdb and obstore only.
"""
