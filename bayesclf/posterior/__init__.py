"""A posterior as a weighted set of hypotheses, the averages over it, and its form as an `xarray.DataTree`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submod_attrs={"hypotheses": ["to_constants", "to_dataset"]}
)
