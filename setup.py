"""The compiled kernels: declared once, and optional.

The metadata is in ``pyproject.toml``. What is here is what a table cannot say: every
``fuel/kernels/_*.pyx`` is an extension, all with the same Cython directives and compiler flags,
and a machine without a compiler installs the package all the same (each kernel has a twin in plain
NumPy, used where the extension is absent).

Environment variables read while building:

``FUEL_REQUIRE_EXTENSIONS=1``
    an extension that cannot be built is an error, not a note;
``FUEL_REQUIRE_JPEG=1``
    the same for the JPEG decoder, which needs the headers of libjpeg-turbo (Debian, Ubuntu:
    ``libjpeg62-turbo-dev`` or ``libjpeg-turbo8-dev``; Fedora: ``libjpeg-turbo-devel``; macOS:
    ``brew install jpeg-turbo``; Windows: ``vcpkg install libjpeg-turbo``); without them images are
    decoded by other means;
``FUEL_JPEG_ROOT``
    where these headers and the library are, if not where the compiler looks: a folder with
    ``include`` and ``lib``;
``FUEL_CYTHON_DEBUG=1``
    bounds checks and line tracing stay in, to run the test suite against checked kernels.
"""

from __future__ import annotations

import glob
import os
import shutil
import sys
import tempfile
import threading

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

REQUIRED = os.environ.get("FUEL_REQUIRE_EXTENSIONS", "") not in ("", "0")
REQUIRED_JPEG = os.environ.get("FUEL_REQUIRE_JPEG", "") not in ("", "0")
DEBUG = os.environ.get("FUEL_CYTHON_DEBUG", "") not in ("", "0")

#: The one extension that needs a library, which not every machine has.
JPEG = "fuel.kernels._jpeg"

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
    import numpy

    shared = sorted(glob.glob("fuel/kernels/*.h") + glob.glob("fuel/kernels/*.pxd"))
    found = []
    for source in sorted(glob.glob("fuel/kernels/_*.pyx")):
        name = os.path.splitext(source)[0].replace(os.sep, ".").replace("/", ".")
        extension = Extension(
            name,
            [source.replace(os.sep, "/")],
            depends=[path.replace(os.sep, "/") for path in shared],
            include_dirs=["fuel/kernels", numpy.get_include()],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
            optional=not REQUIRED,
        )
        if name == JPEG:
            root = os.environ.get("FUEL_JPEG_ROOT", "")
            if root and not os.path.isdir(os.path.join(root, "include")):
                sys.exit(f"FUEL_JPEG_ROOT must be a folder with `include` and `lib`, got {root!r}")
            if root:
                extension.include_dirs.append(os.path.join(root, "include"))
                extension.library_dirs = [os.path.join(root, "lib")]
            extension.libraries = ["jpeg"]
            extension.optional = not REQUIRED_JPEG
        found.append(extension)
    return found


#: Extensions are compiled several at a time; Cython translates one at a time.
TRANSLATING = threading.Lock()


class BuildKernels(build_ext):
    """Translates and compiles each kernel; without success it says what will be used instead."""

    user_options = [
        *build_ext.user_options,
        ("only=", None, "names of the kernels to build, separated by commas; default: all"),
    ]

    def initialize_options(self) -> None:
        super().initialize_options()
        self.only: str | None = None
        self.unforgivable: Exception | None = None

    def finalize_options(self) -> None:
        super().finalize_options()
        if self.only is not None:
            wanted = {f"fuel.kernels._{name.strip().lstrip('_')}" for name in self.only.split(",")}
            self.extensions = [ext for ext in self.extensions if ext.name in wanted]
        if self.parallel is None:
            self.parallel = os.cpu_count()
        # Time stamps do not see a change of directives or flags, and the kernels are small.
        self.force = True

    def run(self) -> None:
        try:
            super().run()
        except Exception as error:  # e.g. no compiler for this platform at all
            if self.unforgivable is error:
                raise
            self._report("the compiled kernels", error)

    def build_extension(self, ext: Extension) -> None:
        try:
            if ext.name == JPEG:
                self._need_libjpeg(ext)
            with TRANSLATING:
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

    def _need_libjpeg(self, ext: Extension) -> None:
        """Try the library before the decoder: what a compiler says of it helps nobody."""
        probe = (
            "#include <stdio.h>\n#include <jpeglib.h>\n"
            "#ifndef LIBJPEG_TURBO_VERSION\n#error not libjpeg-turbo\n#endif\n"
            "int main(void) { struct jpeg_decompress_struct d; (void)d;\n"
            "jpeg_crop_scanline(&d, 0, 0); return 0; }\n"
        )
        folder = tempfile.mkdtemp()
        try:
            path = os.path.join(folder, "probe.c")
            with open(path, "w", encoding="ascii") as file:
                file.write(probe)
            objects = self.compiler.compile(
                [path], output_dir=folder, include_dirs=ext.include_dirs
            )
            self.compiler.link_executable(
                objects,
                "probe",
                output_dir=folder,
                libraries=ext.libraries,
                library_dirs=ext.library_dirs,
            )
        except Exception as error:
            raise RuntimeError(
                "libjpeg-turbo and its headers were not found; install them (Debian, Ubuntu: "
                "libjpeg62-turbo-dev or libjpeg-turbo8-dev; Fedora: libjpeg-turbo-devel; macOS: "
                "brew install jpeg-turbo; Windows: vcpkg install libjpeg-turbo), and say with "
                "FUEL_JPEG_ROOT where they are if not where the compiler looks"
            ) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _report(self, name: str, error: Exception) -> None:
        if REQUIRED_JPEG if name == JPEG else REQUIRED:
            self.unforgivable = error
            raise error
        if self.inplace or self.editable_mode:
            # An extension left by an earlier build is that of other sources.
            built = os.path.join(self.build_lib, self.get_ext_filename(name))
            for path in [*glob.glob(name.replace(".", "/") + ".*"), built]:
                if path.endswith((".so", ".pyd")) and os.path.exists(path):
                    os.remove(path)
        print(
            f"note: {name} could not be built ({type(error).__name__}: {error}); "
            "the NumPy twins will be used. Set FUEL_REQUIRE_EXTENSIONS=1 to make this an error.",
            file=sys.stderr,
        )


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildKernels})
