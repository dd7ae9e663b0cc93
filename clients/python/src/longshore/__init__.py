"""A client of Longshore: upload datasets, wait until they are installed, download them."""

from .client import DatasetFailed, DatasetRefused, Longshore, LongshoreError

__all__ = ["DatasetFailed", "DatasetRefused", "Longshore", "LongshoreError"]
