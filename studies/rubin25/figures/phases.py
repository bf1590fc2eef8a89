"""Figure of the pattern of feature learning with the least energy at each size [Rubin25 S5, App. E]: theory alone."""

import altair as alt
import pandas as pd

from analysis.charts.curves import styled
from analysis.figures.drawn import Drawn, Figure, Missing

from ..phases import phase_map, phase_panel

MOST_D = 1024.0
"""The largest d of the map."""
NARROW = 8.0
"""First layer of its three-layer networks: a wide one never specialises."""


def phases(results: str, sweep: str | None) -> Drawn | Missing:
    """Maps over d and N of the pattern with the least energy: theory alone."""
    widths1 = {"2-layer erf, He_3": None, "2-layer erf, He_3, mean field": None, "3-layer erf, He_3": NARROW}
    maps = {name: phase_map(name, MOST_D, width1) for name, width1 in widths1.items()}
    titles = {name: f"{name}, N1 = {width1:g}" if width1 else name for name, width1 in widths1.items()}
    panels = [phase_panel(tiles, name, width=260, height=260).properties(title=titles[name]) for name, tiles in maps.items()]
    chart = alt.hconcat(*panels, spacing=24).resolve_scale(color="independent", stroke="independent")
    caption = (
        "GP: the network stays lazy; GFL: all neurons amplify w* a little (Gaussian feature learning); specialisation: a few "
        "neurons turn to w*; Mag.: the next layer amplifies what they say. For three layers N is N2. Energies are known up to "
        "constants that the theory leaves open, so borders are known up to factors of order one."
    )
    return Drawn(styled(chart), pd.concat([tiles.assign(network=name) for name, tiles in maps.items()]), caption)


PHASE_FIGURES = [Figure("Phases", "Patterns of feature learning: which has the least energy", "[Rubin25 S5, App. E]", (), phases)]
