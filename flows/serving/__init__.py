"""`matassay serve`: database, Prefect server, runners and reaper as child programs that never outlive it."""
