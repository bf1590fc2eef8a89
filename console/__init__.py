"""Messages between the program and the person at this machine, and this user's folder for files that can be made again."""
