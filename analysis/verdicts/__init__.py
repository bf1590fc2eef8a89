"""The scoreboard: docs/verdicts.md, every statement of the papers with its verdict."""
