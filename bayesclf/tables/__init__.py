"""Tables: reading files, kinds and levels of columns, and data sets by name."""
