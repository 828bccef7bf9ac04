"""`python -m azjax.cli`: the command line."""

import sys

from azjax.cli.main import main

sys.exit(main())
