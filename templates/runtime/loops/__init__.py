"""One module a target, each with the same face: `run` (async) and `run_sync`, which give a `Turn`."""
