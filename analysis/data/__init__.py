"""Points and networks of a store, selected and aggregated by DuckDB."""
