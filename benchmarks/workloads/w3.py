"""HDF5 files read in order and shuffled: contiguous, in chunks, compressed; two sizes of rows."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy
from harness.registry import SEED, Goal, Work, Workload
from limits import address, compile_and_load

from workloads._common import index_batches
from workloads._stores import CHUNK, LAYOUTS, SIZES, mapped, opened, prepare_stores, raw_chunks

__all__ = ["WORKLOAD"]

WORKLOAD = Workload(
    "W3", "HDF5: 50,000 rows of 3,072 bytes in 256s, 60,000 of 784 bytes in 32s", "examples"
)
WORKLOAD.prepare = prepare_stores
Pass = Callable[[], tuple[int, int]]

#: More than all of the data takes, for whoever has a cache of chunks.
ROOMY = 1 << 28
#: Chunks that are mixed by the order that knows them; and a cache that holds two such windows.
WINDOW = 16
#: Batches of a pass of those that would take minutes for an epoch.
FEW = 4

FUEL, WINDOWS = "Fuel, H5PYDataset", "Fuel, ChunkShuffledScheme, cache of 32 chunks"
SORTED, CACHED = "h5py, sorted list", "h5py, sorted list, cache of 256 MiB"
PER_ROW = "h5py, row by row, cache of 256 MiB"
SLICES = "h5py, slices"
GATHER = "C gather from memory, the same array again"
DECODERS = "the decoder alone, 2 threads"
TENSORSTORE = "tensorstore, the same chunks"


def drain(batches: Iterable[Any]) -> tuple[int, int]:
    """Take all batches; count examples and bytes."""
    count = size = 0
    for batch in batches:
        count += len(batch)
        size += batch.nbytes
    return count, size


def shuffled(work: Work, size: str, get: Callable[[Any], Any], most: int | None = None) -> Pass:
    """Return a pass over random batches of indices."""
    rng = numpy.random.default_rng(SEED)
    count = len(mapped(work, size))
    return lambda: drain(
        get(index) for index in islice(index_batches(count, SIZES[size].batch, rng), most)
    )


# -- Fuel -------------------------------------------------------------------------------------


def fuel_pass(work: Work, size: str, layout: str, scheme: str, **options: Any) -> Pass:
    """Return a pass of a stream."""
    from fuel import schemes
    from fuel.datasets import H5PYDataset
    from fuel.streams import DataStream

    dataset = H5PYDataset(work.given.files[size, layout], sources=("x",), **options)
    batch = SIZES[size].batch
    order: Any
    if scheme == "ChunkShuffledScheme":
        order = schemes.ChunkShuffledScheme(dataset, batch, window=WINDOW)
    else:
        order = getattr(schemes, scheme)(dataset.num_examples, batch)
    stream = DataStream(dataset, iteration_scheme=order)
    return lambda: drain(data[0] for data in stream.get_epoch_iterator())


# -- h5py ---------------------------------------------------------------------------------------


def sorted_list(dataset: Any) -> Callable[[Any], Any]:
    """Read in ascending order, as HDF5 demands, and undo it: what the original did."""

    def get(index: Any) -> Any:
        order = numpy.argsort(index)
        back = numpy.empty((len(index), *dataset.shape[1:]), numpy.uint8)
        back[order] = dataset[index[order]]
        return back

    return get


def row_by_row(dataset: Any) -> Callable[[Any], Any]:
    """Read each row by itself."""

    def get(index: Any) -> Any:
        out = numpy.empty((len(index), *dataset.shape[1:]), numpy.uint8)
        for place, row in enumerate(index):
            out[place] = dataset[row]
        return out

    return get


def slices(dataset: Any, batch: int) -> Pass:
    """Read in the order of the file."""
    return lambda: drain(dataset[i : i + batch] for i in range(0, len(dataset), batch))


# -- limits -------------------------------------------------------------------------------------


def c_gather(work: Work, size: str) -> Pass:
    """Gather from the mapped file, or what decoding everything beforehand would give."""
    lib, source = compile_and_load("store", work.data), numpy.asarray(mapped(work, size))
    row, batch = SIZES[size].row, SIZES[size].batch
    out = numpy.empty((batch, *source.shape[1:]), numpy.uint8)

    def get(index: Any) -> Any:
        lib.gather_rows(address(source), address(index), len(index), row, address(out))
        return out[: len(index)]

    return shuffled(work, size, get)


def map_copy(work: Work, size: str) -> Pass:
    """Copy slices of the mapped file into the same array."""
    source, batch = numpy.asarray(mapped(work, size)), SIZES[size].batch
    out = numpy.empty((batch, *source.shape[1:]), numpy.uint8)

    def epoch() -> Iterator[Any]:
        for i in range(0, len(source), batch):
            part = source[i : i + batch]
            numpy.copyto(out[: len(part)], part)
            yield out[: len(part)]

    return lambda: drain(epoch())


def decoder(work: Work, layout: str, size: int) -> Callable[[bytes], Any]:
    """Return what decompresses a chunk."""
    if layout == "gzip":
        try:
            from isal import isal_zlib

            return lambda raw: isal_zlib.decompress(raw, bufsize=size)
        except ImportError:
            return lambda raw: zlib.decompress(raw, bufsize=size)
    if layout == "zstd":
        import zstandard

        return lambda raw: zstandard.ZstdDecompressor().decompress(raw, max_output_size=size)
    lib = compile_and_load("store", work.data)

    def lzf(raw: bytes) -> Any:
        if len(raw) == size:  # it did not become smaller, and was left as it is
            return raw
        source, out = numpy.frombuffer(raw, numpy.uint8), numpy.empty(size, numpy.uint8)
        assert lib.lzf(address(source), len(raw), address(out), size) == size
        return out

    return lzf


def decoding(work: Work, size: str, layout: str) -> Pass:
    """Decompress all chunks, and do nothing with them."""
    chunks, row = raw_chunks(work, size, layout), SIZES[size].row
    decode, pool = decoder(work, layout, CHUNK * row), ThreadPoolExecutor(2)

    def run() -> tuple[int, int]:
        for _ in pool.map(decode, chunks):
            pass
        return len(chunks) * CHUNK, len(chunks) * CHUNK * row

    return run


# -- who takes part in which case ---------------------------------------------------------------


def _cases() -> None:
    """Register everything that is measured for every size and layout."""
    add = WORKLOAD.contender
    for size in SIZES:
        batch = SIZES[size].batch
        for layout in LAYOUTS:
            needs = ("hdf5plugin",) if layout == "zstd" else ()
            both = {"case": f"in order, {layout}, {size} rows", "needs": needs}
            # Too little for the file: what is read in order is decompressed in each pass.
            cache = 2 * WINDOW * CHUNK * SIZES[size].row
            add(FUEL, "fuel", **both)(
                lambda work, s=size, y=layout, c=cache: fuel_pass(
                    work, s, y, "SequentialScheme", chunk_cache_bytes=c
                )
            )
            add(SLICES, "peer", **both)(
                lambda work, s=size, y=layout, b=batch: slices(opened(work, s, y), b)
            )
            if layout == "contiguous":
                add("map, copies of slices", "limit", **both)(
                    lambda work, s=size: map_copy(work, s)
                )
            elif layout != "chunked":
                add(DECODERS, "limit", **both)(lambda work, s=size, y=layout: decoding(work, s, y))
            _shuffled_cases(size, layout, needs)


def _shuffled_cases(size: str, layout: str, needs: tuple[str, ...]) -> None:
    add = WORKLOAD.contender
    both: dict[str, Any] = {"case": f"shuffled, {layout}, {size} rows", "needs": needs}
    roomy = {} if layout == "contiguous" else {"rdcc_nbytes": ROOMY, "rdcc_nslots": 100_003}
    add(FUEL, "fuel", **both)(lambda work: fuel_pass(work, size, layout, "PermutedScheme"))
    add(GATHER, "limit", **both)(lambda work: c_gather(work, size))
    add(SORTED, "hand", **both)(
        lambda work: shuffled(work, size, sorted_list(opened(work, size, layout)), FEW)
    )
    if layout != "contiguous":
        add(CACHED, "hand", **both)(
            lambda work: shuffled(work, size, sorted_list(opened(work, size, layout, **roomy)), FEW)
        )
        add(PER_ROW, "peer", **both)(
            lambda work: shuffled(work, size, row_by_row(opened(work, size, layout, **roomy)), 40)
        )
    else:
        add("h5py, row by row", "peer", **both)(
            lambda work: shuffled(work, size, row_by_row(opened(work, size, layout)), 40)
        )
    if layout in ("gzip", "lzf", "zstd"):
        cache = 2 * WINDOW * CHUNK * SIZES[size].row
        add(WINDOWS, "fuel", **both)(
            lambda work: fuel_pass(
                work, size, layout, "ChunkShuffledScheme", chunk_cache_bytes=cache
            )
        )
        add(DECODERS, "limit", **both)(lambda work: decoding(work, size, layout))


_cases()


# -- other frameworks -----------------------------------------------------------------------------


@WORKLOAD.contender(
    "torch DataLoader over h5py",
    "peer",
    case="shuffled, contiguous, large rows",
    lane="torch",
    needs=("torch", "h5py"),
)
def torch_loader(work: Work) -> Pass:
    """Row by row."""
    from torch.utils.data import DataLoader

    dataset = opened(work, "large", "contiguous")
    loader = DataLoader(dataset, batch_size=SIZES["large"].batch, shuffle=True)
    return lambda: drain(islice(loader, 40))


@WORKLOAD.contender(
    TENSORSTORE,
    "peer",
    case="shuffled, chunked, large rows",
    lane="torch",
    needs=("tensorstore", "h5py"),
)
def tensorstore_gather(work: Work) -> Pass:
    """A gather in C++ from decoded chunks."""
    import tensorstore

    data = numpy.asarray(mapped(work, "large"))
    spec = {
        "driver": "zarr3",
        "kvstore": {"driver": "file", "path": str(_zarr(work, data))},
        "context": {"cache_pool": {"total_bytes_limit": 1 << 30}},
        "recheck_cached_data": "open",
    }
    array = tensorstore.open(spec).result()
    return shuffled(work, "large", lambda index: array[index].read().result(), 40)


@WORKLOAD.contender(
    "zarr, the same chunks",
    "peer",
    case="shuffled, chunked, large rows",
    lane="torch",
    needs=("zarr", "tensorstore", "h5py"),
)
def zarr_gather(work: Work) -> Pass:
    """Orthogonal indexing."""
    import zarr

    path = _zarr(work, numpy.asarray(mapped(work, "large")))
    array = zarr.open_array(str(path), mode="r")
    return shuffled(work, "large", lambda index: array.oindex[index], FEW)


def _zarr(work: Work, data: Any) -> Any:
    """Write the images as a Zarr array in chunks of the same size, once."""
    import tensorstore

    path = work.data / f"w3-large-zarr-{len(data)}"
    done = path.with_suffix(".done")
    if not done.exists():
        array = tensorstore.open(
            {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(path)}},
            create=True,
            delete_existing=True,
            dtype=tensorstore.uint8,
            shape=data.shape,
            chunk_layout=tensorstore.ChunkLayout(chunk_shape=(CHUNK, *data.shape[1:])),
        ).result()
        array[...] = data
        done.touch()
    return path


WORKLOAD.goals = [
    Goal(FUEL, GATHER, 0.85, "shuffled, contiguous, large rows"),
    Goal(FUEL, GATHER, 0.6, "shuffled, contiguous, small rows"),
    Goal(FUEL, GATHER, 0.7, "shuffled, chunked, large rows"),
    Goal(FUEL, TENSORSTORE, 8, "shuffled, chunked, large rows"),
]
for _layout in ("gzip", "lzf"):
    _case = f"shuffled, {_layout}, large rows"
    WORKLOAD.goals += [
        Goal(FUEL, PER_ROW, 8, _case),
        Goal(FUEL, CACHED, 250, _case),
        Goal(WINDOWS, DECODERS, 0.8, _case),
    ]
WORKLOAD.goals += [Goal(FUEL, SLICES, 3, "in order, gzip, large rows")]
