"""What `fuel` offers, for type checkers: at run time these names are looked up when first used."""

from fuel.config_parser import config as config
from fuel.loader import DataLoader as DataLoader
from fuel.loader import close_dataloader_pool as close_dataloader_pool
from fuel.loader import eachobs as eachobs
from fuel.workers import close_workers as close_workers

__version__: str
