"""Clients of Dask without a scheduler: work is sent, received, and done in this process."""

import types

import cloudpickle


class Within:
    """What has the interface of a client, and works in this process; as a client, it cannot be sent to a worker."""

    status = "running"

    def compute(self, graph):
        """Return what has the interface of a future."""
        sent = cloudpickle.loads(cloudpickle.dumps(graph))
        return types.SimpleNamespace(result=lambda: sent.compute(scheduler="synchronous"), release=lambda: None)

    def __reduce__(self):
        raise TypeError("a client cannot be sent to a worker")
