"""Detectors of what only the screen shows: small functions over the pixels of the final screenshot.

Each says in its docstring how often it is right, as its test measures it on screens drawn by a seed.
"""
