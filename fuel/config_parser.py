"""Settings of the package: where each value comes from, its type, and what is wrong with it.

A setting is read as an attribute of `config`, the one object shared by the whole package. Its
value is looked for, at every read, in this order:

1. what a program assigned (``config.floatX = "float32"``),
2. an environment variable,
3. a YAML file: the one named by ``$FUEL_CONFIG``, else ``~/.fuelrc``,
4. the default.

The settings of the package are:

``data_path`` (``FUEL_DATA_PATH``)
    Directories in which data files are looked for, in order; always a list of str. A text is
    split at ``os.pathsep``. Default: one directory ``fuel`` in the platform's place for the data
    of a user.
``local_data_path`` (``FUEL_LOCAL_DATA_PATH``)
    Directory on a local disk to which data files are copied before they are read. Default:
    ``""``, which turns the copying off.
``default_seed``
    Seed of everything that was not given one, an int. Default: 1.
``extra_downloaders``, ``extra_converters`` (``FUEL_EXTRA_DOWNLOADERS``, ``FUEL_EXTRA_CONVERTERS``)
    Names of modules that hold further downloaders and converters; a list of str. A text is split
    at spaces. Default: none.
``floatX`` (``FUEL_FLOATX``)
    Name of the floating point type that data is cast to. Default: ``"float64"``.

The file is read when a setting is first needed from it, not when the package is imported, so a
mistake in it never makes ``import fuel`` fail. Reading it is in `fuel._config_file`, looking for
data files in `fuel.utils`; ``fuel.config`` is the object, not a module.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from fuel._config_file import configuration_file, read_configuration_file
from fuel.exceptions import ConfigurationError

__all__ = [
    "NOT_SET",
    "Configuration",
    "ConfigurationError",
    "SettingDescription",
    "config",
    "configuration_file",
    "extra_downloader_converter",
    "multiple_paths_parser",
]

#: Marks a setting without a default; ``None`` is a value like any other.
NOT_SET: Any = object()


class _RefusedError(ConfigurationError, ValueError):
    """A value that a type refuses, or a name that nobody declared: once a bare ValueError."""


class _Computed(NamedTuple):
    """A default that is found out only when it is needed."""

    compute: Callable[[], Any]


class _Setting(NamedTuple):
    """A declared setting."""

    type_: Callable[[Any], Any]
    default: Any
    env_var: str | None


class _Raw(NamedTuple):
    """A value before its type is applied, and the place it was found in."""

    value: Any
    origin: str


class SettingDescription(NamedTuple):
    """One line of `Configuration.describe`.

    Attributes
    ----------
    key : str
        The name of the setting.
    value : object
        Its value, or None where there is none.
    origin : str
        Where the value comes from, as `Configuration.origin` says it.
    env_var : str or None
        The environment variable that can set it.
    error : str or None
        What is wrong with the setting, if anything.

    """

    key: str
    value: Any
    origin: str
    env_var: str | None
    error: str | None


def extra_downloader_converter(value: Any) -> Any:
    """Parse the names of modules that hold downloaders or converters.

    Parameters
    ----------
    value : str or list of str
        Names separated by spaces, or a list of them.

    Returns
    -------
    list of str
        The names. What is not a str is returned as it came.

    Examples
    --------
    >>> extra_downloader_converter("one.downloaders two.downloaders")
    ['one.downloaders', 'two.downloaders']

    """
    if isinstance(value, str):
        # No module has an empty name, so neither an empty variable nor a second space makes one.
        return [name for name in value.split(" ") if name]
    return value


def multiple_paths_parser(value: Any) -> Any:
    """Parse a list of directories.

    Parameters
    ----------
    value : str, path or list of (str or path)
        Directories separated by ``os.pathsep`` (``:``, on Windows ``;``), one path, or several.

    Returns
    -------
    list of str
        The directories. A list is returned as it came.

    Raises
    ------
    TypeError
        If `value` is neither a path nor a sequence of paths.

    Examples
    --------
    >>> import os
    >>> multiple_paths_parser(os.pathsep.join(["first", "second"]))
    ['first', 'second']
    >>> multiple_paths_parser(["first"])
    ['first']

    """
    if isinstance(value, str):
        return value.split(os.pathsep)
    if isinstance(value, list):
        return value
    if isinstance(value, os.PathLike):
        return [os.fspath(value)]
    if value is None or isinstance(value, (bytes, Mapping)):
        raise TypeError(f"not a list of directories: {value!r}")
    return list(value)


#: What a value should have looked like, for messages.
_EXPECTED: dict[Any, str] = {
    int: "an integer",
    float: "a number",
    str: "a text",
    bool: "true or false",
    multiple_paths_parser: f"a directory, or several in a list or separated by {os.pathsep!r}",
    extra_downloader_converter: "names of modules in a list or separated by spaces",
}


def _check_yaml_type(type_: Callable[[Any], Any], value: Any) -> None:
    """Refuse what ``type_(value)`` would turn into nonsense, as ``str`` does with a list."""
    if type_ in (int, float, str) and isinstance(value, (bool, list, dict)):
        raise TypeError(f"unexpected {type(value).__name__}")
    if type_ is int and isinstance(value, float) and not value.is_integer():
        raise ValueError("it has a fraction")
    if type_ in (multiple_paths_parser, extra_downloader_converter):
        entries = value if isinstance(value, list) else [value]
        if not all(isinstance(entry, str) for entry in entries):
            raise TypeError("an entry is not a text")


class Configuration:
    """Declared settings, read as attributes.

    A new object declares nothing. `add_config` declares a setting; reading it as an attribute
    looks its value up in the places listed at the top of `fuel.config_parser` and applies its
    type. Assigning a name that is not declared makes an ordinary attribute.

    Notes
    -----
    Threads may read and assign settings at the same time. Assignments are those of one process:
    they are not passed on to processes started later.

    Examples
    --------
    >>> settings = Configuration()
    >>> settings.add_config("default_seed", int, default="1")
    >>> settings.default_seed
    1
    >>> settings.default_seed = 2
    >>> settings.default_seed, settings.origin("default_seed")
    (2, 'assignment')

    """

    def __init__(self) -> None:
        # Straight into __dict__, because __setattr__ asks _settings.
        self.__dict__.update(
            _settings={},
            _assigned={},
            _overrides=[],
            _file_values={},
            _file_pending=False,
            _lock=threading.RLock(),
        )

    def add_config(
        self,
        key: str,
        type_: Callable[[Any], Any],
        default: Any = NOT_SET,
        env_var: str | None = None,
    ) -> None:
        """Declare a setting.

        Parameters
        ----------
        key : str
            Its name: the attribute, and the key in the file.
        type_ : callable
            Takes a value as it was found, the default included, and returns the one to use. It
            raises TypeError or ValueError for a value that it cannot use.
        default : object, optional
            The value if none is found. Without it, reading an unset setting is an error.
        env_var : str, optional
            The environment variable that sets it.

        Raises
        ------
        ValueError
            If `key` is the name of a method of this class.

        """
        if hasattr(type(self), key):
            raise ValueError(
                f"a setting cannot be called {key!r}, which is a method of the configuration; "
                f"choose another name"
            )
        with self._lock:
            self._settings[key] = _Setting(type_, default, env_var)
            self._assigned.pop(key, None)
            self.__dict__.pop(key, None)  # an ordinary attribute would hide the setting

    def load_yaml(self) -> None:
        """Read the file that `configuration_file` names, now.

        A file that is not there, or is empty, is fine. A key without a value counts as not set.

        Raises
        ------
        ConfigurationError
            If the file cannot be read, or does not hold a mapping.
        ValueError
            If it has a key that was not declared.

        """
        with self._lock:
            path = configuration_file()
            content = read_configuration_file(path)
            for key in content:
                if key not in self._settings:
                    raise _RefusedError(
                        f"Unrecognized config in YAML: {key} (in file {path}; remove the line or "
                        f"correct the name, which must be one of: {', '.join(self._settings)})"
                    )
            for key, value in content.items():
                self._file_values[key] = _Raw(value, f"file {path}")
            # Last, so that no other thread misses the values, and a file that is wrong is still
            # wrong when the next setting is read.
            self.__dict__["_file_pending"] = False

    def _find(self, key: str) -> _Raw:
        """Return the value of a declared setting and its origin, before its type is applied."""
        setting: _Setting = self._settings[key]
        for values in reversed(tuple(self._overrides)):
            if key in values:
                return _Raw(values[key], "assignment")
        if key in self._assigned:
            return _Raw(self._assigned[key], "assignment")
        if setting.env_var is not None and setting.env_var in os.environ:
            return _Raw(os.environ[setting.env_var], f"environment variable {setting.env_var}")
        if self._file_pending:
            self.load_yaml()
        raw: _Raw | None = self._file_values.get(key)
        if raw is not None and raw.value is not None:
            return raw
        if isinstance(setting.default, _Computed):
            return _Raw(setting.default.compute(), "default")
        return _Raw(setting.default, "default")

    def _convert(self, key: str, raw: _Raw) -> Any:
        setting: _Setting = self._settings[key]
        try:
            if raw.origin.startswith("file "):
                _check_yaml_type(setting.type_, raw.value)
            return setting.type_(raw.value)
        except (TypeError, ValueError) as error:
            place = {"assignment": "a program", "default": "the declaration"}.get(
                raw.origin, f"the {raw.origin}"
            )
            name = getattr(setting.type_, "__name__", repr(setting.type_))
            expected = _EXPECTED.get(setting.type_, f"a value that {name} accepts")
            raise _RefusedError(
                f"the setting `{key}` must be {expected}, but {place} gives "
                f"{raw.value!r} ({error}); correct it there"
            ) from error

    def _value(self, key: str) -> tuple[Any, str]:
        raw = self._find(key)
        if raw.value is NOT_SET:
            raise ConfigurationError(f"Configuration not set and no default provided: {key}.")
        return self._convert(key, raw), raw.origin

    def __getattr__(self, key: str) -> Any:
        # Reached only for what is not an ordinary attribute. While an object is being copied or
        # unpickled there is no _settings yet.
        if key not in self.__dict__.get("_settings", ()):
            raise AttributeError(
                f"{key!r} is neither a setting nor an attribute of the configuration"
            )
        return self._value(key)[0]

    def __setattr__(self, key: str, value: Any) -> None:
        if key not in self._settings:
            object.__setattr__(self, key, value)
            return
        with self._lock:
            # Inside `override`, an assignment ends with the override.
            for values in reversed(self._overrides):
                if key in values:
                    values[key] = value
                    return
            self._assigned[key] = value

    def __delattr__(self, key: str) -> None:
        if key not in self._settings:
            object.__delattr__(self, key)
            return
        with self._lock:
            if key not in self._assigned:
                raise AttributeError(f"nothing was assigned to the setting {key!r}")
            del self._assigned[key]

    def __repr__(self) -> str:
        return f"<Configuration of {', '.join(self._settings) or 'nothing'}>"

    def __reduce__(self) -> Any:
        # The shared object stands for the settings of the process that it is in.
        if self is globals().get("config"):
            return "config"
        raise TypeError("a Configuration cannot be pickled; pickle the values that are needed")

    def origin(self, key: str) -> str:
        """Say where the present value of a setting comes from.

        Parameters
        ----------
        key : str
            A declared setting.

        Returns
        -------
        str
            ``"assignment"``, ``"environment variable NAME"``, ``"file PATH"``, ``"default"``, or
            ``"not set"`` where there is no value at all.

        Raises
        ------
        AttributeError
            If the setting is not declared.
        ConfigurationError
            If the configuration file is needed and cannot be used.

        """
        if key not in self._settings:
            raise AttributeError(f"{key!r} is not a setting")
        raw = self._find(key)
        return "not set" if raw.value is NOT_SET else raw.origin

    def describe(self) -> list[SettingDescription]:
        """List every setting, its value and where that comes from.

        Returns
        -------
        list of SettingDescription
            In the order of declaration. A setting that cannot be read has an `error`, so this
            never raises a ConfigurationError.

        """
        lines = []
        for key, setting in tuple(self._settings.items()):
            value, origin, error = None, "not set", None
            try:
                origin = self.origin(key)
                value, origin = self._value(key)
            except ConfigurationError as problem:
                error = str(problem)
            lines.append(SettingDescription(key, value, origin, setting.env_var, error))
        return lines

    @contextmanager
    def override(self, **values: Any) -> Iterator[Configuration]:
        """Give settings other values for the length of a ``with`` block.

        Parameters
        ----------
        **values
            Declared settings and their values, which win over everything else, assignments
            made before included. What is assigned to them inside the block ends with it.

        Yields
        ------
        Configuration
            This object.

        Raises
        ------
        AttributeError
            If a setting is not declared; nothing is changed then.

        Notes
        -----
        All threads of the process see the values. Where blocks of several threads overlap, the
        one entered last wins, and each takes back only its own.

        Examples
        --------
        >>> with config.override(floatX="float32"):
        ...     config.floatX
        'float32'

        """
        for key in values:
            if key not in self._settings:
                raise AttributeError(f"{key!r} is not a setting and cannot be overridden")
        frame = dict(values)
        with self._lock:
            self._overrides.append(frame)
        try:
            yield self
        finally:
            with self._lock:
                # By identity: equal frames of two threads are still two.
                position = [entry is frame for entry in self._overrides].index(True)
                del self._overrides[position]


def _user_data_directory() -> list[str]:
    import platformdirs

    return [platformdirs.user_data_dir("fuel", appauthor=False)]


#: The settings of the package, shared by all of it; also ``fuel.config``.
config = Configuration()
config.add_config(
    "data_path",
    multiple_paths_parser,
    default=_Computed(_user_data_directory),
    env_var="FUEL_DATA_PATH",
)
config.add_config("local_data_path", str, default="", env_var="FUEL_LOCAL_DATA_PATH")
config.add_config("default_seed", int, default=1)
config.add_config(
    "extra_downloaders", extra_downloader_converter, default=[], env_var="FUEL_EXTRA_DOWNLOADERS"
)
config.add_config(
    "extra_converters", extra_downloader_converter, default=[], env_var="FUEL_EXTRA_CONVERTERS"
)
config.add_config("floatX", str, default="float64", env_var="FUEL_FLOATX")
config.__dict__["_file_pending"] = True
