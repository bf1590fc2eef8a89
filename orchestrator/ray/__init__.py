"""Ray below a sweep: clusters, packs as Tune trials, liveness, scratch directory."""
