"""Libraries that take a second to import, imported when they are first used: every worker
of pytest reads all the files of tests, and runs a few of them."""

import importlib


class Later:
    """A module that is imported when something of it is asked for."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        # Nor by pytest, which asks all that a file of tests has for attributes of its own.
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self._name), attribute)


duckdb = Later("duckdb")
integrate = Later("scipy.integrate")
optimize = Later("scipy.optimize")
pandas = Later("pandas")
polars = Later("polars")
scikit_posthocs = Later("scikit_posthocs")
stats = Later("scipy.stats")
