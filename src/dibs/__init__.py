"""Dynamic Resource Allocation for Kubernetes, in Python.

Values in, values out; one place remembers, one place acts; every no has a reason.
ARCHITECTURE.md has the picture.
"""

__version__ = "0.1.0"
