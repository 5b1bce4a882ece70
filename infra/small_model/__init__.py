"""A small real model, served on loopback: what the model-driven loops are proved with where there is no network."""
