"""`python -m app` is `onus`."""

from app.cli import main

main(prog_name="onus")
