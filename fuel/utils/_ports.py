"""What hosts and TCP ports look like, and bounds of the queues behind them."""

from __future__ import annotations

import operator
from typing import Any

__all__ = ["check_host", "check_hwm", "check_port"]

_HIGHEST_PORT = 2**16 - 1


def check_host(host: Any) -> None:
    """Refuse what cannot be the name or the address of a machine.

    Parameters
    ----------
    host : str
        What a user gave.

    Raises
    ------
    ValueError
        If it is no text, or an empty one.

    """
    if not isinstance(host, str) or not host.strip():
        raise ValueError(
            f"`host` must be the name or address of a machine, got {host!r:.80}; for this one, "
            "leave it out"
        )


def check_port(port: Any, lowest: int = 1) -> None:
    """Refuse what is no TCP port: ZeroMQ takes larger numbers, and uses another port then.

    Parameters
    ----------
    port : int
        What a user gave. A text of digits is fine.
    lowest : int, default 1
        The lowest number allowed; 0 stands for any free port where one listens.

    Raises
    ------
    ValueError
        If it is no number of a port.

    """
    try:
        number = int(port) if isinstance(port, str) else operator.index(port)
    except (TypeError, ValueError):
        number = -1
    if isinstance(port, bool) or not lowest <= number <= _HIGHEST_PORT:
        raise ValueError(
            f"`port` must be a TCP port, an integer from {lowest} to {_HIGHEST_PORT}, got "
            f"{port!r:.80}; choose one above 1023 that no other program uses"
        )


def check_hwm(hwm: Any) -> None:
    """Refuse what is no number of items that may wait.

    Parameters
    ----------
    hwm : int
        What a user gave.

    Raises
    ------
    ValueError
        If it is no integer of 0 or more that fits a C int.

    """
    if isinstance(hwm, bool) or not hasattr(hwm, "__index__") or not 0 <= hwm < 2**31:
        raise ValueError(
            f"`hwm` must be an integer of 0 or more, got {hwm!r:.80}; it is the number of items "
            "that may wait (0: any number)"
        )
