"""The builder of the materials snapshot: starting structures, a pretrained potential, hulls, values of the literature."""
