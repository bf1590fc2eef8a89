"""Which networks share random draws: those of one seed that differ only in keys that enter no random stream of the data.

Analysis knows no trainables, so the keys are kept here; a test holds them to what the streams do (but for `layer`, whose
networks take data that tests have not).
"""

ENTERING = frozenset({"L", "d", "P", "patch", "patches", "patch_size", "blur", "layer"})
"""Networks that differ in these share nothing. At equilibrium a training set serves all networks, whatever their width."""


def shared_along(key: str, at_equilibrium: bool) -> bool:
    """Whether networks of one seed share draws at different values of this key; of a key that is not known here they may."""
    return key not in ENTERING and (at_equilibrium or key != "width")
