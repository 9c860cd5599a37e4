"""The virtual environment that the programs of this folder share.

In this room: making ``.venv`` in the checkout, installing the package into it, noticing that
nothing changed since the last time, and starting programs inside it. Only the standard library is
used, and only forms that older Pythons can read, so that they get a helpful line and not a
traceback. What is run inside the environment is decided by the programs, not here.
"""

import hashlib
import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".venv"
STAMP = HOME / "fuel-stamp.json"
LOG = HOME / "fuel-install.log"
OLDEST = (3, 10)
#: Runs a command in the environment, which may lack something if its making was interrupted.
_CALL = """import sys
sys.path.remove("")  # the user's folder may hold a file of the name of a module
try:
    from {0} import main
except ImportError as error:
    name = "{0}".split(".")[-1].replace("_", "-")
    sys.exit(f"{{name}}: failed: {{error}}; run bin/quickstart once, it installs what is needed")
sys.exit(main())
"""
NEWER = ["python3.14", "python3.13", "python3.12", "python3.11", "python3.10"]


class Failure(Exception):
    """Something that the user can mend; the message says how."""


def program(main):
    """Run ``main(arguments)`` as a command: its return value is the exit code."""
    try:
        if sys.version_info < OLDEST:
            return _with_newer_python()
        return main(sys.argv[1:])
    except Failure as failure:
        say(f"failed: {failure}", stream=sys.stderr)
        return 1
    except KeyboardInterrupt:
        say("stopped", stream=sys.stderr)
        return 130


def say(text, stream=None):
    """One plain line, at once."""
    print(f"{Path(sys.argv[0]).name}: {text}", file=stream or sys.stdout, flush=True)


def python():
    """The path of the environment's interpreter."""
    if os.name == "nt":
        return HOME / "Scripts" / "python.exe"
    return HOME / "bin" / "python"


def run(arguments, **options):
    """Run the environment's Python with ``arguments`` in the checkout; the exit code."""
    command = [str(python()), *(str(argument) for argument in arguments)]
    options.setdefault("cwd", str(ROOT))
    return subprocess.run(command, env=clean_environment(), **options).returncode


def hand_over(command, **options):
    """Let another program take the place of this one; returns its exit code where it cannot.

    A signal sent to this process then reaches the program that does the work.
    """
    if os.name == "nt":  # there, the caller would be told that the program has ended
        return subprocess.run(command, **options).returncode
    sys.stdout.flush()
    sys.stderr.flush()
    if "cwd" in options:
        os.chdir(options["cwd"])
    return os.execve(command[0], command, options.get("env", os.environ))


def clean_environment(**more):
    """The caller's environment without what would let other installed packages in."""
    unwanted = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "__PYVENV_LAUNCHER__")
    environment = {name: value for name, value in os.environ.items() if name not in unwanted}
    environment.update(PYTHONNOUSERSITE="1", VIRTUAL_ENV=str(HOME), **more)
    return environment


def prepare(extras=(), require_kernels=False):
    """Make or reuse the environment, with the package (editable) and ``extras`` installed."""
    known = _read_stamp()
    wanted = _describe(extras)
    if known.get("environment") != wanted["environment"] or not python().exists():
        _make()
        known = {}
    extras = sorted(set(extras) | set(known.get("extras", [])))
    if known.get("sources") == wanted["sources"] and known.get("extras") == extras:
        if _kernels_work() or not require_kernels:
            say("using the environment in .venv (nothing changed since it was made)")
            return
    STAMP.unlink() if STAMP.exists() else None
    _install(extras, require_kernels)
    STAMP.write_text(json.dumps(dict(wanted, extras=extras)), encoding="utf-8")


def kernels_line():
    """What the user should know about the compiled kernels, or None if there is nothing to say."""
    if _kernels_work():
        return None
    return (
        "no C compiler was found (or it failed), so the NumPy twins of the compiled kernels are "
        "used: the results are the same, some steps are slower"
    )


def _with_newer_python():
    probe = f"import sys; sys.exit(sys.version_info < {OLDEST})"
    for name in NEWER:
        path = shutil.which(name)
        if path and subprocess.run([path, "-c", probe], stderr=subprocess.DEVNULL).returncode == 0:
            return subprocess.run([path] + sys.argv).returncode
    raise Failure(
        "Python {}.{} or newer is needed, this is {}.{} ({}); install a newer one and run it as "
        "`python3.12 {}`".format(*OLDEST, *sys.version_info[:2], sys.executable, sys.argv[0])
    )


def _describe(extras):
    """What decides whether an existing environment can be used as it is."""
    digest = hashlib.sha256()
    files = [ROOT / "pyproject.toml", ROOT / "setup.py"]
    kernels = ROOT / "fuel" / "kernels"
    files += sorted([*kernels.glob("*.p[yx][xd]"), *kernels.glob("*.h")])
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    # The checkout may have been moved or copied together with its environment, and the
    # interpreter may have been upgraded under it.
    environment = [str(ROOT), sys.version, sys.base_prefix]
    return {"environment": environment, "sources": digest.hexdigest(), "extras": sorted(extras)}


def _read_stamp():
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
        return stamp if isinstance(stamp, dict) else {}
    except (OSError, ValueError):
        return {}


def _make():
    if HOME.exists() and not (HOME / "pyvenv.cfg").exists() and os.listdir(str(HOME)):
        raise Failure(f"{HOME} exists and is not a virtual environment; move it away")
    try:
        import ensurepip  # noqa: F401  (Debian and Ubuntu ship Python without it)
        import venv
    except ImportError as error:
        raise Failure(
            f"this Python has no module `{error.name}`, needed to make a virtual environment; on "
            "Debian and Ubuntu `sudo apt install python3-venv` brings it"
        ) from error
    say("making a virtual environment in .venv")
    try:
        _clear()
        # Symbolic links, as `python -m venv` makes them: some builds of Python do not run copied.
        venv.create(str(HOME), with_pip=True, symlinks=os.name != "nt")
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failure(f"the virtual environment could not be made in {HOME}: {error}") from error


def _clear():
    """Empty the environment, but for the file that tells that it is one.

    Whatever stops this half-way, the next run knows the folder for its own.
    """
    HOME.mkdir(exist_ok=True)
    (HOME / "pyvenv.cfg").touch()
    for path in HOME.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(str(path))
        elif path.name != "pyvenv.cfg":
            path.unlink()


def _install(extras, require_kernels):
    what = " with what {} needs".format(", ".join(extras)) if extras else ""
    say(f"installing Fuel{what} (a minute or two the first time)")
    target = ".[{}]".format(",".join(extras)) if extras else "."
    command = [str(python()), "-m", "pip", "install", "--disable-pip-version-check"]
    # Compiling every module of every package ahead takes longer than installing them; Python
    # compiles those that are used. (The variable says the same to the pip that pip starts for the
    # build: it names the value of `compile`.)
    command += ["--no-compile", "--no-input", "--editable", target]
    environment = clean_environment(
        FUEL_REQUIRE_EXTENSIONS="1" if require_kernels else "0", PIP_NO_COMPILE="0"
    )
    with open(str(LOG), "w", encoding="utf-8") as log:
        code = subprocess.run(
            command, cwd=str(ROOT), env=environment, stdout=log, stderr=subprocess.STDOUT
        ).returncode
    if code:
        lines = LOG.read_text(encoding="utf-8", errors="replace").splitlines()
        print("\n".join(lines[-20:]), file=sys.stderr)
        hint = "check the network connection and the free disk space, and run this again"
        if require_kernels and any("compil" in line or "gcc" in line for line in lines):
            hint = "install a C compiler, or set FUEL_KERNELS=reference to use the NumPy twins"
        raise Failure(f"pip could not install the package ({LOG} has all it said); {hint}")
    if not require_kernels and kernels_line():
        say(kernels_line())


def _kernels_work():
    """Whether every kernel that has a ``.pyx`` can be imported compiled."""
    # The JPEG decoder needs a library that not every machine has; others do its work.
    found = [path.stem for path in (ROOT / "fuel" / "kernels").glob("_*.pyx")]
    names = [name for name in found if name != "_jpeg"]
    suffixes = [".so", ".pyd"]
    compiled = [
        path
        for name in names
        for path in (ROOT / "fuel" / "kernels").glob(name + ".*")
        if path.suffix in suffixes
    ]
    if len({path.name.split(".")[0] for path in compiled}) < len(names):
        return False
    code = "import importlib\nfor name in {!r}: importlib.import_module('fuel.kernels.' + name)"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return not names or run(["-c", code.format(names)], **quiet) == 0


def command(module):
    """A main function that runs ``module.main`` of this checkout and returns its exit code."""

    def main(arguments):
        if python().exists() and Path(sys.prefix).resolve() != HOME.resolve():
            # The user's own working directory and configuration, the checkout's environment.
            return hand_over([str(python()), "-c", _CALL.format(module)] + arguments)
        sys.path.insert(0, str(ROOT))
        try:
            imported = importlib.import_module(module)
        except ImportError as error:
            raise Failure(
                f"{error}; run bin/quickstart once, it installs what is needed"
            ) from error
        return imported.main()

    return main
