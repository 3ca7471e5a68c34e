"""`python -m servers.calibrated`."""

import sys

from servers.calibrated.cli import main

if __name__ == "__main__":
    sys.exit(main())
