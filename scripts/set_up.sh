# Sourced by the other scripts: makes a virtual environment and installs the checkout into it.
# VENV names the environment (default .venv), PYTHON the interpreter (default python3).
VENV=${VENV:-.venv}
[ -x "$VENV/bin/python" ] || "${PYTHON:-python3}" -m venv "$VENV"
export PATH="$(cd "$VENV" && pwd)/bin:$PATH" PIP_DISABLE_PIP_VERSION_CHECK=1
# torch first and by itself: as a dependency of another package it may come as a much larger build.
python -m pip install --quiet "$(grep '^torch==' constraints.txt)"
python -m pip install --quiet --constraint constraints.txt --editable ".[test]"
