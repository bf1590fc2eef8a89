"""The results directory: packs of rows, committed atomically, seen through DuckDB views. Knows pyarrow, duckdb and obstore only.

Files never change once they have their name (a digest of their bytes is part of it), which is what makes commits
idempotent, readers free of locks, and compaction safe beside both.
"""
