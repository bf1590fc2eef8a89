"""Networks that share random draws: those of one seed that differ only in keys outside the random streams of the data.

Each key declares whether it enters the streams (`declarations.Key.in_streams`); a test compares this with what the streams do.
"""

from collections.abc import Mapping

from sweepkit.declarations.columns import Column, Key
from sweepkit.declarations.keys import KEYS


def shared_along(key: str, has_training_set: bool, declared: Mapping[str, Column] = KEYS) -> bool:
    """Whether networks of one seed share draws at different values of this key. `declared`: the columns of their store.

    A fixed training set serves all networks, so keys of the network do not enter there. A key that nobody declares is taken
    for a key of a user's own task, which enters.
    """
    column = declared.get(key)
    if not isinstance(column, Key):
        return False
    return not column.in_streams or (has_training_set and column.part == "network")
