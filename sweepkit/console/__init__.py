"""Messages between the program and the person at this machine, and this user's folder for files that can be made again."""

from sweepkit.console.streams import fill

fill()  # here, as every command and every process that one starts imports this package before it opens a file that it keeps
