"""The results directory: its files, their commit, and the DuckDB views over them. Knows pyarrow and duckdb, no Ray, no torch."""
