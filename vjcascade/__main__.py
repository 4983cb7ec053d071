"""Run the command line as ``python -m vjcascade``."""

from vjcascade.cli.main import main

if __name__ == "__main__":
    main()
