"""The Ray that a sweep runs on: Tune, clusters, liveness, scratch."""
