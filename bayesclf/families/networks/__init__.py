"""Categories that depend on each other along the edges of a belief network, joint tables included."""
