"""The plan of a sweep before its start: missing cells, checks of own parts, files to make, packs, forecast, announcement."""
