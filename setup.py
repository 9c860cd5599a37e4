"""The compiled kernels: declared once, and optional.

The metadata is in ``pyproject.toml``. What is here is what a table cannot say: every
``fuel/kernels/_*.pyx`` is an extension, all with the same Cython directives and compiler flags,
and a machine without a compiler installs the package all the same (each kernel has a twin in plain
NumPy, used where the extension is absent).

Environment variables read while building:

``FUEL_REQUIRE_EXTENSIONS=1``
    an extension that cannot be built is an error, not a note;
``FUEL_CYTHON_DEBUG=1``
    bounds checks and line tracing stay in, to run the test suite against checked kernels.
"""

from __future__ import annotations

import glob
import os
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

REQUIRED = os.environ.get("FUEL_REQUIRE_EXTENSIONS", "") not in ("", "0")
DEBUG = os.environ.get("FUEL_CYTHON_DEBUG", "") not in ("", "0")

# The doors in front of the kernels check shapes, dtypes and bounds, so the kernels need not.
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": DEBUG,
    "initializedcheck": DEBUG,
    "nonecheck": DEBUG,
    "cdivision": True,
    "embedsignature": True,
}

# No -march=native (a wheel must run elsewhere), no -ffast-math, and no contraction of a*b+c into
# one rounding: the compiled kernels equal their NumPy twins bit for bit.
UNIX_FLAGS = ["-O3", "-ffp-contract=off", "-g" if DEBUG else "-g0"]
MSVC_FLAGS = ["/O2", "/fp:precise"]


def extensions() -> list[Extension]:
    """One extension for each ``fuel/kernels/_*.pyx``."""
    sources = sorted(glob.glob("fuel/kernels/_*.pyx"))
    return [
        Extension(
            os.path.splitext(source)[0].replace(os.sep, ".").replace("/", "."),
            [source.replace(os.sep, "/")],
            optional=not REQUIRED,
        )
        for source in sources
    ]


class BuildKernels(build_ext):
    """Translates and compiles each kernel; without success it says what will be used instead."""

    def finalize_options(self) -> None:
        super().finalize_options()
        # Time stamps do not see a change of directives or flags, and the kernels are small.
        self.force = True

    def run(self) -> None:
        try:
            super().run()
        except Exception as error:  # e.g. no compiler for this platform at all
            self._report("the compiled kernels", error)

    def build_extension(self, ext: Extension) -> None:
        try:
            self._translate(ext)
            flags = MSVC_FLAGS if self.compiler.compiler_type == "msvc" else UNIX_FLAGS
            ext.extra_compile_args = list(flags)
            super().build_extension(ext)
        except Exception as error:
            self._report(ext.name, error)

    def _translate(self, ext: Extension) -> None:
        from Cython.Build import cythonize

        pyx = Extension(ext.name, [source for source in ext.sources if source.endswith(".pyx")])
        (translated,) = cythonize(
            [pyx],
            compiler_directives=DIRECTIVES,
            build_dir=os.path.join("build", "cython-debug" if DEBUG else "cython"),
            force=True,
            quiet=True,
        )
        ext.sources = translated.sources

    def _report(self, name: str, error: Exception) -> None:
        if REQUIRED:
            raise error
        if self.inplace or self.editable_mode:
            # An extension left by an earlier build is that of other sources.
            for path in glob.glob(name.replace(".", "/") + ".*"):
                if path.endswith((".so", ".pyd")):
                    os.remove(path)
        print(
            f"note: {name} could not be built ({type(error).__name__}: {error}); "
            "the NumPy twins will be used. Set FUEL_REQUIRE_EXTENSIONS=1 to make this an error.",
            file=sys.stderr,
        )


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildKernels})
