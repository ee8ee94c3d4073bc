"""Parts of the site that are made from the package when it is built."""
