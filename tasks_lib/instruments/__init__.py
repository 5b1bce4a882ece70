"""The atomic force microscope: files, analysis, digital twin, back ends, tuning and experiments."""
