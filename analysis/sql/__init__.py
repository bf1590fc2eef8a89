"""SQL that people type, fenced in."""
