"""Numbers that are no TCP ports are refused wherever a port is given."""

from __future__ import annotations

import pytest

from fuel.server import start_server
from fuel.streams import ServerDataStream
from fuel.utils._ports import check_port
from fuel.utils.parallel import producer_consumer


@pytest.mark.parametrize("port", [1, 5557, 65535, "5557"])
def test_ports_are_taken(port):
    check_port(port)
    assert ServerDataStream(("x",), True, port=port).port == port


@pytest.mark.parametrize("port", [-1, 65536, 99999, 5557.0, True, "http", None])
def test_what_is_no_port_is_refused(port):
    with pytest.raises(ValueError, match="TCP port"):
        ServerDataStream(("x",), True, port=port)
    with pytest.raises(ValueError, match="TCP port"):
        start_server(None, port=port)
    if port is not None:
        with pytest.raises(ValueError, match="TCP port"):
            producer_consumer(lambda socket: None, lambda socket: None, port=port)


def test_any_free_port_is_for_those_who_listen():
    check_port(0, lowest=0)
    with pytest.raises(ValueError, match="from 1 to"):
        ServerDataStream(("x",), True, port=0)


@pytest.mark.parametrize("timeout", ["a", None, 0, float("nan"), float("inf")])
def test_what_is_no_time_to_wait_is_refused(timeout):
    with pytest.raises(ValueError, match="timeout"):
        ServerDataStream(("x",), True, timeout=timeout)


@pytest.mark.parametrize("hwm", [-1, "a", None, 1.5, True, 2**31])
def test_what_is_no_number_of_items_is_refused(hwm):
    with pytest.raises(ValueError, match="hwm"):
        ServerDataStream(("x",), True, hwm=hwm)
    with pytest.raises(ValueError, match="hwm"):
        start_server(None, port=0, hwm=hwm)


@pytest.mark.parametrize("host", [None, "", " ", 127001])
def test_what_is_no_host_is_refused(host):
    with pytest.raises(ValueError, match="`host` must be the name or address"):
        ServerDataStream(("x",), True, host=host)
    with pytest.raises(ValueError, match="`host` must be the name or address"):
        start_server(None, host=host)


def test_only_streams_are_served():
    with pytest.raises(ValueError, match="`data_stream` must be a stream, got None"):
        start_server(None, port=0)
