"""A client of Longshore: upload datasets, wait until they are installed, download them."""

from .client import Longshore
from .errors import DatasetFailed, DatasetRefused, DigestMismatch, LongshoreError

__all__ = ["DatasetFailed", "DatasetRefused", "DigestMismatch", "Longshore", "LongshoreError"]
