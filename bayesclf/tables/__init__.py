"""Tables: reading files, what columns hold, and data sets by name."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "columns": ["ColumnKind"],
        "reading": ["read_table"],
    },
)
