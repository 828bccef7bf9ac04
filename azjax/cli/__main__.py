"""`python -m azjax.cli.main`."""

import sys

from azjax.cli.main.main import main

sys.exit(main())
