"""The version of Onus, as it was installed."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("onus")
except PackageNotFoundError:  # A source tree that was never installed.
    VERSION = "0"
