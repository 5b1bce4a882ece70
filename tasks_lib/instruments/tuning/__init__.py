"""PID tuning: gain boxes, objectives, search strategies, and the study that compares them."""
