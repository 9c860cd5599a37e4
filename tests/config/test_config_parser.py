"""Laws of the configuration: where values come from, their types, and messages about mistakes."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading

import pytest

from fuel.config_parser import (
    Configuration,
    ConfigurationError,
    config,
    configuration_file,
    extra_downloader_converter,
    multiple_paths_parser,
)

VARIABLES = (
    "FUEL_CONFIG",
    "FUEL_DATA_PATH",
    "FUEL_LOCAL_DATA_PATH",
    "FUEL_EXTRA_DOWNLOADERS",
    "FUEL_EXTRA_CONVERTERS",
    "FUEL_FLOATX",
)


@pytest.fixture
def yaml_file(tmp_path, monkeypatch):
    """A function that writes the configuration file."""
    path = tmp_path / "settings.yaml"
    monkeypatch.setenv("FUEL_CONFIG", str(path))

    def write(text):
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def settings():
    settings = Configuration()
    settings.add_config("data_path", str, env_var="TESTED_DATA_PATH")
    settings.add_config("config_with_default", int, default="1", env_var="TESTED_DEFAULT")
    settings.add_config("config_without_default", str)
    return settings


def run_program(code, home, **environment):
    """Run a program with no configuration but the one given; return (code, stdout, stderr)."""
    env = {key: value for key, value in os.environ.items() if key not in VARIABLES}
    env.update(HOME=str(home), USERPROFILE=str(home), **environment)
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


def test_the_type_is_applied_to_the_default_too(settings):
    assert settings.config_with_default == 1


def test_a_declared_setting_without_a_value_says_its_name(settings):
    with pytest.raises(ConfigurationError) as caught:
        settings.config_without_default
    assert str(caught.value) == (
        "Configuration not set and no default provided: config_without_default."
    )


def test_an_undeclared_name_is_an_attribute_error(settings):
    with pytest.raises(AttributeError, match="nothing_like_it"):
        settings.nothing_like_it
    assert not hasattr(settings, "nothing_like_it")


def test_precedence(settings, yaml_file, monkeypatch):
    assert settings.origin("config_with_default") == "default"
    path = yaml_file("config_with_default: 2\n")
    settings.load_yaml()
    assert settings.config_with_default == 2
    assert settings.origin("config_with_default") == f"file {path}"
    monkeypatch.setenv("TESTED_DEFAULT", "3")
    assert settings.config_with_default == 3
    assert settings.origin("config_with_default") == "environment variable TESTED_DEFAULT"
    settings.config_with_default = "4"
    assert settings.config_with_default == 4
    assert settings.origin("config_with_default") == "assignment"
    del settings.config_with_default
    assert settings.config_with_default == 3
    monkeypatch.delenv("TESTED_DEFAULT")
    assert settings.config_with_default == 2


def test_the_environment_is_looked_up_at_every_read(settings, monkeypatch):
    for value in ("first", "second"):
        monkeypatch.setenv("TESTED_DATA_PATH", value)
        assert settings.data_path == value


def test_an_undeclared_assignment_makes_an_ordinary_attribute(settings):
    kept = ["anything"]
    settings._old_data_path = kept
    assert settings._old_data_path is kept
    del settings._old_data_path
    with pytest.raises(AttributeError):
        settings._old_data_path
    with pytest.raises(AttributeError):
        del settings._old_data_path


def test_only_what_was_assigned_can_be_deleted(settings):
    with pytest.raises(AttributeError, match="nothing was assigned"):
        del settings.data_path


def test_declaring_again_forgets_the_assignment_and_reveals_the_setting(settings):
    settings.later = "ordinary"
    settings.add_config("later", int, default=5)
    assert settings.later == 5
    settings.later = 6
    settings.add_config("later", int, default=7)
    assert settings.later == 7


def test_the_name_of_a_method_is_refused():
    with pytest.raises(ValueError, match=r"'describe'.*choose another name"):
        Configuration().add_config("describe", int)


def test_unknown_yaml_key(settings, yaml_file):
    path = yaml_file("data_path: yaml_path\nunknown_key: 1\n")
    with pytest.raises(ValueError, match=r"^Unrecognized config in YAML: unknown_key") as caught:
        settings.load_yaml()
    assert str(path) in str(caught.value)
    assert "config_with_default" in str(caught.value)
    assert isinstance(caught.value, ConfigurationError)


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "---\n"])
def test_an_empty_file_is_fine(settings, yaml_file, text):
    yaml_file(text)
    settings.load_yaml()
    assert settings.config_with_default == 1


def test_a_missing_file_is_silently_ignored(settings, tmp_path, monkeypatch):
    for value in (str(tmp_path / "missing"), ""):
        monkeypatch.setenv("FUEL_CONFIG", value)
        settings.load_yaml()
        assert settings.config_with_default == 1


def test_a_key_without_a_value_counts_as_not_set(settings, yaml_file):
    yaml_file("config_with_default:\ndata_path:\n")
    settings.load_yaml()
    assert settings.config_with_default == 1
    with pytest.raises(ConfigurationError, match=r"no default provided: data_path\."):
        settings.data_path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- one\n- two\n", ["holds a list", "key: value"]),
        ("just a text\n", ["holds a str", "key: value"]),
        ("data_path: [unclosed\n", ["not valid YAML"]),
        ("data_path: !!python/object/apply:os.getcwd []\n", ["not valid YAML"]),
    ],
)
def test_a_file_of_another_form_is_named(settings, yaml_file, text, words):
    path = yaml_file(text)
    with pytest.raises(ConfigurationError) as caught:
        settings.load_yaml()
    for word in [str(path), *words]:
        assert word in str(caught.value)


def test_a_file_that_is_not_text_is_named(settings, yaml_file):
    path = yaml_file("")
    path.write_bytes(b"data_path: \xff\xfe\n")
    with pytest.raises(ConfigurationError, match="cannot be read") as caught:
        settings.load_yaml()
    assert str(path) in str(caught.value)


def test_a_directory_in_place_of_the_file_is_named(settings, tmp_path, monkeypatch):
    monkeypatch.setenv("FUEL_CONFIG", str(tmp_path))
    with pytest.raises(ConfigurationError, match="cannot be read") as caught:
        settings.load_yaml()
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("value", ["abc", "[1, 2]", "true", "1.5", "{a: 1}"])
def test_a_wrong_type_in_the_file_names_key_file_form_and_value(settings, yaml_file, value):
    path = yaml_file(f"config_with_default: {value}\n")
    settings.load_yaml()
    with pytest.raises(ConfigurationError) as caught:
        settings.config_with_default
    for word in ["`config_with_default`", str(path), "an integer"]:
        assert word in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_a_wrong_type_in_the_environment_names_the_variable(settings, monkeypatch):
    monkeypatch.setenv("TESTED_DEFAULT", "many")
    with pytest.raises(ConfigurationError) as caught:
        settings.config_with_default
    for word in ["`config_with_default`", "TESTED_DEFAULT", "an integer", "'many'"]:
        assert word in str(caught.value)


def test_a_wrong_assignment_is_found_when_it_is_read(settings):
    settings.config_with_default = "many"
    with pytest.raises(ValueError, match="a program gives 'many'"):
        settings.config_with_default


def test_a_list_is_not_a_text(settings, yaml_file):
    yaml_file("data_path: [a, b]\n")
    settings.load_yaml()
    with pytest.raises(ConfigurationError, match="must be a text"):
        settings.data_path


def test_multiple_paths_parser():
    given = ["a", "b"]
    assert multiple_paths_parser(given) is given
    assert multiple_paths_parser(os.pathsep.join(given)) == given
    assert multiple_paths_parser("a") == ["a"]
    assert multiple_paths_parser(("a", "b")) == ["a", "b"]


def test_extra_downloader_converter():
    given = ["a.b", "c"]
    assert extra_downloader_converter(given) is given
    assert extra_downloader_converter("a.b c") == given
    assert extra_downloader_converter("") == []


def test_data_path_is_always_a_list(tmp_path):
    for value in ("one", ["one"], ("one",), tmp_path / "one"):
        with config.override(data_path=value):
            assert isinstance(config.data_path, list)
            assert os.path.basename(config.data_path[0]) == "one"
    with config.override(data_path=3), pytest.raises(ConfigurationError, match="data_path"):
        config.data_path


def test_override_wins_and_is_taken_back(settings):
    settings.config_with_default = 2
    with settings.override(config_with_default=3) as same:
        assert same is settings
        assert settings.config_with_default == 3
        with settings.override(config_with_default=4):
            assert settings.config_with_default == 4
        settings.config_with_default = 5
        assert settings.config_with_default == 5
    assert settings.config_with_default == 2
    with pytest.raises(KeyError), settings.override(config_with_default=6):
        raise KeyError
    assert settings.config_with_default == 2


def test_override_of_an_unknown_setting_changes_nothing(settings):
    with pytest.raises(AttributeError, match="absent"):
        with settings.override(config_with_default=3, absent=1):
            pass
    assert settings.config_with_default == 1


def test_overrides_of_two_threads_that_overlap_each_end_with_their_own(settings):
    entered, left = threading.Event(), threading.Event()
    seen = []

    def other():
        with settings.override(config_with_default=20):
            entered.set()
            left.wait(30)
            seen.append(settings.config_with_default)

    thread = threading.Thread(target=other)
    with settings.override(config_with_default=10):
        thread.start()
        assert entered.wait(30)
        assert settings.config_with_default == 20
    left.set()
    thread.join(30)
    assert seen == [20]
    assert settings.config_with_default == 1


def test_describe_shows_mistakes_instead_of_raising(settings, monkeypatch):
    monkeypatch.setenv("TESTED_DEFAULT", "many")
    lines = {line.key: line for line in settings.describe()}
    assert list(lines) == ["data_path", "config_with_default", "config_without_default"]
    assert "TESTED_DEFAULT" in lines["config_with_default"].error
    assert lines["config_with_default"].origin == "environment variable TESTED_DEFAULT"
    assert lines["config_without_default"].origin == "not set"
    assert lines["data_path"].env_var == "TESTED_DATA_PATH"


def test_the_shared_object_pickles_by_name():
    assert pickle.loads(pickle.dumps(config)) is config
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(Configuration())


def test_the_file_is_named_by_the_environment_or_lies_at_home(monkeypatch, tmp_path):
    monkeypatch.setenv("FUEL_CONFIG", "/elsewhere")
    assert configuration_file() == "/elsewhere"
    monkeypatch.delenv("FUEL_CONFIG")
    assert configuration_file() == os.path.expanduser("~/.fuelrc")


def test_everything_works_without_any_configuration(tmp_path):
    code = (
        "import fuel, sys\n"
        "assert 'yaml' not in sys.modules and 'platformdirs' not in sys.modules\n"
        "c = fuel.config\n"
        "import os; assert len(c.data_path) == 1 and os.path.basename(c.data_path[0]) == 'fuel'\n"
        "print(c.local_data_path == '', c.default_seed, c.extra_downloaders, c.extra_converters,"
        " c.floatX, {s.origin for s in c.describe()})\n"
        "assert 'yaml' not in sys.modules\n"
    )
    code, out, err = run_program(code, tmp_path)
    assert (code, out.strip(), err) == (0, "True 1 [] [] float64 {'default'}", "")


def test_the_file_at_home_is_read_when_it_is_needed(tmp_path):
    paths = os.pathsep.join(["/first", "/second"])
    (tmp_path / ".fuelrc").write_text(f'data_path: "{paths}"\nextra_converters: [one, two]\n')
    code = "from fuel import config; print(config.data_path, config.extra_converters)"
    assert run_program(code, tmp_path)[1].strip() == "['/first', '/second'] ['one', 'two']"
    out = run_program(code, tmp_path, FUEL_DATA_PATH="/third", FUEL_EXTRA_CONVERTERS="three")[1]
    assert out.strip() == "['/third'] ['three']"


def test_a_mistake_in_the_file_never_breaks_the_import_and_does_not_go_away(tmp_path):
    (tmp_path / ".fuelrc").write_text("data_path: [unclosed\n")
    code = (
        "import fuel\n"
        "fuel.config.default_seed = 3\n"
        "assert fuel.config.default_seed == 3\n"
        "for attempt in range(2):\n"
        "    try:\n"
        "        fuel.config.data_path\n"
        "    except fuel.exceptions.ConfigurationError as error:\n"
        "        print('.fuelrc' in str(error))\n"
        "print(sum(line.error is not None for line in fuel.config.describe()))\n"
    )
    assert run_program(code, tmp_path)[1:] == ("True\nTrue\n5\n", "")


def test_a_setting_declared_by_another_package_may_stand_in_the_file(tmp_path):
    (tmp_path / ".fuelrc").write_text("my_setting: 7\n")
    code = (
        "from fuel import config\n"
        "config.add_config('my_setting', int)\n"
        "print(config.my_setting, config.floatX)\n"
    )
    assert run_program(code, tmp_path)[1].strip() == "7 float64"
