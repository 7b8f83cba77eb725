# The server has an environment of its own, which the type checker does not see.
# mypy: disable-error-code="import-not-found"
"""Link the program inside its Python package, whose own start script only runs it."""

import sys
from pathlib import Path

import msmcp_template

if __name__ == "__main__":
    program = Path(msmcp_template.__file__).parent / "bin" / "mcptmp"
    program.chmod(0o755)
    Path(sys.argv[1]).symlink_to(program)
