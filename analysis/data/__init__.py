"""Points and networks: selected and aggregated by DuckDB."""
