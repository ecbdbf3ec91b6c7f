"""How fast roben is, how much memory it takes, and how stable its encodings are: `python -m benchmarks --help`."""
