"""``python -m guest``: start the machine's control server."""

from .main import main

if __name__ == "__main__":
    main()
