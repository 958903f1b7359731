"""``python -m lamina`` is the command `lamina`, also where it isn't installed as one."""

import sys

from lamina.cli import main

if __name__ == "__main__":
    sys.exit(main())
