"""The paper's quantitative statements, each measured in the store and given a verdict; `analysis/claims.yaml` lists them."""
