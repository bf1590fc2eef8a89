"""Linear regression in context."""

from analysis.study import Study

STUDY = Study(
    title="Linear regression in context",
    shows="linear attention learns in context",
    source="[Lu25]",
    order=110,
    grids=("in_context_quick", "in_context"),
    evidence=("in_context_quick",),
    pictures={"in-context": ("InContext",)},
)
