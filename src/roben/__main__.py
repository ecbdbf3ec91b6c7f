"""`python -m roben` is `roben`."""

from roben.cli import main

raise SystemExit(main())
