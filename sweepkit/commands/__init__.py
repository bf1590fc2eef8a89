"""The installed command `sweep`: every other command under one name."""
