"""``python -m tasks_lib.cli``."""

from tasks_lib.cli import main

if __name__ == "__main__":
    main()
