"""Words between the program and the person at this machine, and where this user's machine keeps what can be made again."""
