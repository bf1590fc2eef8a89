"""The rooms that the others share: store, statistics, declared columns, strings, words for people, the command `sweep`."""
