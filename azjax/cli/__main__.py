"""`python -m azjax.cli` is the command `azjax`, for machines where scripts are not on the path."""

import sys

from azjax.cli.main import main

sys.exit(main())
