"""MLPs in context."""

from analysis.study import Study

STUDY = Study(
    title="MLPs in context",
    shows="MLPs learn in context",
    source="[Tong24]",
    order=120,
    grids=("in_context_mlp_quick", "in_context_mlp"),
    needs=("in_context",),
    evidence=("in_context_mlp_quick",),
    pictures={"in-context-mlp": ("InContextMLP",)},
)
