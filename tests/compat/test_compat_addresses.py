"""Names and signatures that programs written for the original import and call.

A signature here is the original's. Ours may add arguments by keyword only, or behind the others,
and may spell out what the original took by ``*args`` or ``**kwargs``; what was callable is.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest

#: Where a name is found, beside the place that defines it.
ADDRESSES = {
    "fuel": ["config", "__version__", "version", "config_parser"],
    "fuel.version": ["version"],
    "fuel.config_parser": ["config", "Configuration", "ConfigurationError", "NOT_SET"],
    "fuel.converters.base": ["MissingInputFiles"],
    "fuel.downloaders.base": ["NeedURLPrefix"],
    "fuel.exceptions": [
        "AxisLabelsMismatchError",
        "ConfigurationError",
        "MissingInputFiles",
        "NeedURLPrefix",
    ],
    "fuel.datasets": [
        "Dataset",
        "IterableDataset",
        "IndexableDataset",
        "H5PYDataset",
        "Iris",
        "TextFile",
        "OneBillionWord",
    ],
    "fuel.datasets.iris": ["Iris"],
    "fuel.datasets.toy": ["Spiral", "SwissRoll"],
    "fuel.streams": ["AbstractDataStream", "DataStream", "ServerDataStream"],
    "fuel.iterator": ["DataIterator"],
    "fuel.server": ["start_server", "send_arrays", "recv_arrays"],
    "fuel.transformers": [
        "AgnosticSourcewiseTransformer",
        "AgnosticTransformer",
        "BackgroundProcess",
        "Batch",
        "BatchSizeScheme",
        "Cache",
        "Cast",
        "ExpectsAxisLabels",
        "Filter",
        "FilterSources",
        "Flatten",
        "ForceFloatX",
        "Mapping",
        "Merge",
        "MultiProcessing",
        "Padding",
        "Rename",
        "ScaleAndShift",
        "SortMapping",
        "SourcewiseTransformer",
        "Transformer",
        "Unpack",
        "config",
    ],
    "fuel.utils": [
        "Subset",
        "buffer_",
        "do_not_pickle_attributes",
        "find_in_data_path",
        "iterable_fancy_indexing",
        "lazy_property_factory",
        "remember_cwd",
    ],
    "fuel.utils.lock": ["TIMEOUT", "MIN_WAIT", "Unlocker"],
    "fuel.converters": ["all_converters", "__version__"],
    "fuel.downloaders": ["all_downloaders"],
    "fuel.converters.iris": ["convert_iris", "fill_subparser"],
    "fuel.downloaders.iris": ["fill_subparser"],
    "fuel.bin.fuel_convert": ["main", "CheckDirectoryAction"],
    "fuel.bin.fuel_download": ["main"],
    "fuel.bin.fuel_info": ["main"],
}


@pytest.mark.parametrize("module", ADDRESSES)
def test_names_are_where_they_were(module: str) -> None:
    found = importlib.import_module(module)
    assert [name for name in ADDRESSES[module] if not hasattr(found, name)] == []


#: Positional arguments in order, ``name=default`` where there is one, by "module:object".
SIGNATURES = """
fuel.bin.fuel_convert:main args=None
fuel.bin.fuel_download:main args=None
fuel.bin.fuel_info:main args=None
fuel.config_parser:extra_downloader_converter value
fuel.config_parser:multiple_paths_parser value
fuel.config_parser:Configuration
fuel.config_parser:Configuration.load_yaml self
fuel.config_parser:Configuration.add_config self key type_ default=... env_var=None
fuel.converters.base:check_exists required_files
fuel.converters.base:fill_hdf5_file h5file data
fuel.converters.base:progress_bar name maxval prefix='Converting'
fuel.converters.iris:convert_iris directory output_directory output_filename='iris.hdf5'
fuel.datasets.base:Dataset sources=None axis_labels=None
fuel.datasets.base:Dataset.apply_default_transformers self stream
fuel.datasets.base:Dataset.get_example_stream self
fuel.datasets.base:Dataset.open self
fuel.datasets.base:Dataset.reset self state
fuel.datasets.base:Dataset.next_epoch self state
fuel.datasets.base:Dataset.close self state
fuel.datasets.base:Dataset.get_data self state=None request=None
fuel.datasets.base:Dataset.filter_sources self data
fuel.datasets.base:IterableDataset iterables **
fuel.datasets.base:IndexableDataset indexables start=None stop=None **
fuel.datasets.hdf5:PytablesDataset path sources start=0 stop=None data_node='Data' \
    sources_in_file=None
fuel.datasets.hdf5:PytablesDataset.open_file self path
fuel.datasets.hdf5:PytablesDataset.close_file self
fuel.datasets.hdf5:H5PYDataset file_or_path which_sets subset=None load_in_memory=False \
    driver=None sort_indices=True **
fuel.datasets.hdf5:H5PYDataset.create_split_array split_dict
fuel.datasets.hdf5:H5PYDataset.get_all_splits h5file
fuel.datasets.hdf5:H5PYDataset.get_all_sources h5file
fuel.datasets.hdf5:H5PYDataset.get_provided_sources h5file split
fuel.datasets.hdf5:H5PYDataset.get_vlen_sources h5file
fuel.datasets.hdf5:H5PYDataset.get_axis_labels h5file
fuel.datasets.hdf5:H5PYDataset.get_subsets h5file splits sources
fuel.datasets.hdf5:H5PYDataset._out_of_memory_get_data self state=None request=None
fuel.datasets.hdf5:H5PYDataset._in_memory_get_data self state=None request=None
fuel.datasets.iris:Iris which_sets **
fuel.datasets.text:TextFile files dictionary bos_token='<S>' eos_token='</S>' \
    unk_token='<UNK>' level='word' preprocess=None encoding=None
fuel.datasets.billion:OneBillionWord which_set which_partitions dictionary **
fuel.datasets.toy:Spiral num_examples=1000 classes=1 cycles=1.0 noise=0.0 **
fuel.datasets.toy:SwissRoll num_examples=1000 noise=0.0 **
fuel.downloaders.base:progress_bar name maxval
fuel.downloaders.base:filename_from_url url path=None
fuel.downloaders.base:download url file_handle chunk_size=1024
fuel.downloaders.base:ensure_directory_exists directory
fuel.downloaders.base:default_downloader directory urls filenames url_prefix=None clear=False
fuel.exceptions:MissingInputFiles message filenames
fuel.iterator:DataIterator data_stream request_iterator=None as_dict=False
fuel.schemes:BatchScheme examples batch_size
fuel.schemes:IndexScheme examples
fuel.schemes:ConcatenatedScheme schemes
fuel.schemes:ConstantScheme batch_size num_examples=None times=None
fuel.schemes:ShuffledScheme examples batch_size
fuel.schemes:ShuffledExampleScheme examples
fuel.schemes:SequentialScheme examples batch_size
fuel.schemes:SequentialExampleScheme examples
fuel.schemes:cross_validation scheme_class num_examples num_folds strict=True **
fuel.server:send_arrays socket arrays stop=False
fuel.server:recv_arrays socket
fuel.server:start_server data_stream port=5557 hwm=10
fuel.streams:AbstractDataStream iteration_scheme=None axis_labels=None
fuel.streams:DataStream dataset **
fuel.streams:DataStream.default_stream dataset **
fuel.streams:ServerDataStream sources produces_examples host='localhost' port=5557 hwm=10 \
    axis_labels=None
fuel.streams:ServerDataStream.connect self
fuel.transformers:Transformer data_stream produces_examples=None **
fuel.transformers:ExpectsAxisLabels.verify_axis_labels self expected actual source_name
fuel.transformers:Mapping data_stream mapping add_sources=None mapping_accepts=list **
fuel.transformers:SourcewiseTransformer data_stream produces_examples which_sources=None **
fuel.transformers:SourcewiseTransformer._apply_sourcewise_transformation self data method
fuel.transformers:Flatten data_stream **
fuel.transformers:ScaleAndShift data_stream scale shift **
fuel.transformers:Cast data_stream dtype **
fuel.transformers:ForceFloatX data_stream **
fuel.transformers:Filter data_stream predicate **
fuel.transformers:Cache data_stream iteration_scheme **
fuel.transformers:SortMapping key reverse=False
fuel.transformers:Batch data_stream iteration_scheme strictness=0 **
fuel.transformers:Unpack data_stream **
fuel.transformers:Padding data_stream mask_sources=None mask_dtype=None **
fuel.transformers:Merge data_streams sources axis_labels=None
fuel.transformers:BackgroundProcess data_stream max_batches
fuel.transformers:BackgroundProcess.main self
fuel.transformers:BackgroundProcess.get_next_data self
fuel.transformers:MultiProcessing data_stream max_store=100 **
fuel.transformers:Rename data_stream names on_non_existent='raise' **
fuel.transformers:FilterSources data_stream sources **
fuel.transformers.defaults:uint8_pixels_to_floatX which_sources
fuel.transformers.defaults:ToBytes stream **
fuel.transformers.sequences:Window offset source_window target_window overlapping data_stream \
    target_source='targets' **
fuel.utils:Subset list_or_slice original_num_examples
fuel.utils:Subset.subset_of subset list_or_slice
fuel.utils:Subset.empty_subset original_num_examples
fuel.utils:Subset.sorted_fancy_indexing indexable request
fuel.utils:Subset.slice_to_numerical_args slice_ num_examples
fuel.utils:Subset.index_within_subset self indexable subset_request sort_indices=False
fuel.utils:Subset._list_request_sanity_check self indices num_examples
fuel.utils:Subset._slice_request_sanity_check self slice_ num_examples
fuel.utils:iterable_fancy_indexing iterable request
fuel.utils:find_in_data_path filename
fuel.utils:lazy_property_factory lazy_property
fuel.utils.cache:cache_file filename
fuel.utils.cache:copy_from_server_to_local dataset_remote_dir dataset_local_dir remote_fname \
    local_fname
fuel.utils.disk:disk_usage path
fuel.utils.disk:safe_mkdir folder_name force_perm=None
fuel.utils.disk:check_enough_space dataset_local_dir remote_fname local_fname max_disk_usage=0.9
fuel.utils.formats:open_ filename mode='r' encoding=None
fuel.utils.formats:tar_open f
fuel.utils.lock:Unlocker tmp_dir
fuel.utils.lock:refresh_lock lock_file
fuel.utils.lock:lock tmp_dir timeout=... min_wait=None max_wait=None verbosity=1
fuel.utils.lock:get_lock lock_dir **
fuel.utils.lock:release_lock
fuel.utils.lock:get_writelock filename
fuel.utils.lock:release_writelock
fuel.utils.lock:release_readlock lockdir_name
fuel.utils.lock:get_readlock pid path
fuel.utils.parallel:producer_consumer producer consumer addr='tcp://127.0.0.1' port=None \
    context=None
"""


def _find(address: str) -> Any:
    module, _, path = address.partition(":")
    found: Any = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return found


@pytest.mark.parametrize("line", SIGNATURES.strip().splitlines(), ids=lambda line: line.split()[0])
def test_what_could_be_called_still_can(line: str) -> None:
    address, *wanted = line.split()
    parameters = list(inspect.signature(_find(address)).parameters.values())
    if wanted and wanted[-1] == "**":
        wanted.pop()
        takes_more = {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
        assert any(parameter.kind in takes_more for parameter in parameters)
    assert len(parameters) >= len(wanted)
    for text, parameter in zip(wanted, parameters, strict=False):
        name, _, default = text.partition("=")
        assert parameter.name == name
        assert parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        if default == "...":
            assert parameter.default is not inspect.Parameter.empty
        elif default:
            shown = parameter.default
            assert (shown.__name__ if isinstance(shown, type) else repr(shown)) == default
    for parameter in parameters[len(wanted) :]:
        # Anything new can be left out.
        assert parameter.default is not inspect.Parameter.empty or parameter.kind in (
            inspect.Parameter.VAR_KEYWORD,
            inspect.Parameter.VAR_POSITIONAL,
        )


def test_class_attributes_have_their_values() -> None:
    values = {
        "fuel.schemes:BatchSizeScheme.requests_examples": False,
        "fuel.schemes:BatchScheme.requests_examples": False,
        "fuel.schemes:IndexScheme.requests_examples": True,
        "fuel.datasets.base:Dataset.provides_sources": None,
        "fuel.datasets.base:Dataset.default_transformers": (),
        "fuel.datasets.base:IterableDataset.example_iteration_scheme": None,
        "fuel.datasets.text:TextFile.provides_sources": ("features",),
        "fuel.datasets.text:TextFile.example_iteration_scheme": None,
        "fuel.datasets.hdf5:H5PYDataset.interface_version": "0.3",
        "fuel.datasets.iris:Iris.filename": "iris.hdf5",
        "fuel.converters:__version__": "0.2",
        "fuel.utils.lock:TIMEOUT": 5,
        "fuel.utils.lock:MIN_WAIT": 5,
    }
    assert {address: _find(address) for address in values} == values


def test_exceptions_are_caught_where_they_were() -> None:
    from fuel.exceptions import AxisLabelsMismatchError, ConfigurationError, MissingInputFiles

    assert issubclass(AxisLabelsMismatchError, ValueError)
    assert not issubclass(ConfigurationError, ValueError)
    error = MissingInputFiles("Required files missing", ["a", "b"])
    assert error.filenames == ["a", "b"]
    assert "Required files missing" in str(error)
    for name, module in (
        ("ConfigurationError", "fuel.config_parser"),
        ("MissingInputFiles", "fuel.converters.base"),
        ("NeedURLPrefix", "fuel.downloaders.base"),
    ):
        assert _find(f"{module}:{name}") is _find(f"fuel.exceptions:{name}")


def test_abstract_classes_cannot_be_made_and_the_others_can() -> None:
    from fuel.datasets import Dataset, IterableDataset
    from fuel.schemes import BatchScheme, IndexScheme, IterationScheme
    from fuel.streams import AbstractDataStream, DataStream
    from fuel.transformers import AgnosticTransformer, SourcewiseTransformer, Transformer

    stream = DataStream(IterableDataset([1]))
    for make in (
        Dataset,
        IterationScheme,
        AbstractDataStream,
        lambda: AgnosticTransformer(stream),
        lambda: BatchScheme(3, 2),
        lambda: IndexScheme(3),
    ):
        with pytest.raises(TypeError):
            make()
    assert Transformer(stream).sources == ("data",)
    assert SourcewiseTransformer(stream, True).which_sources is None
