"""Releases of onnxruntime that never had wheels for a Python one still finds, run in Python 3.9 all the same.

Their extension module for Python 3.7 uses some 130 functions of Python's interface. Two things differ in 3.9: the size
of a type object, after which the module writes the parts of new types, and the version that it asks for. Both calls are
renamed in the file to functions of a small library that is loaded first.

    OPSETLIFT_PYTHON39=/usr/bin/python3.9 python -m tests.legacy.runtimes 0.5.0 1.0.0 1.4.0

needs Python 3.9 with its headers (Debian 11's python3.9 and libpython3.9-dev), pip and a C compiler.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

VERSIONS = ("0.5.0", "1.0.0", "1.2.0", "1.4.0", "1.6.0")

_LIBRARY = r"""
#include <Python.h>
#include <string.h>

const char *Pz_GetVersion(void) { return "3.7.9"; }

/* Up to 3.7 a type object ends one pointer earlier, and the parts of a type made at run time follow it. */
int PzType_Ready(PyTypeObject *type) {
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
    size_t now = sizeof(PyTypeObject), then = now - sizeof(void *);
    size_t parts = sizeof(PyHeapTypeObject) - now - sizeof(void *);
    char *base = (char *)type;
    memmove(base + now, base + then, parts);
    memset(base + then, 0, now - then);
    void **slots[] = {(void **)&type->tp_as_async, (void **)&type->tp_as_number, (void **)&type->tp_as_sequence,
                      (void **)&type->tp_as_mapping, (void **)&type->tp_as_buffer};
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
      char *slot = *slots[i];
      if (slot >= base + then && slot < base + then + parts) *slots[i] = slot + (now - then);
    }
  }
  return PyType_Ready(type);
}
"""
_RENAMED = {b"\0PyType_Ready\0": b"\0PzType_Ready\0", b"\0Py_GetVersion\0": b"\0Pz_GetVersion\0"}
_START = "import ctypes\nctypes.CDLL({!r}, mode=ctypes.RTLD_GLOBAL)\n"
_STARTER = '#!/bin/sh\nPYTHONPATH={} exec {} "$@"\n'


def install(version: str, python: Path) -> None:
    """Put a release behind `python`, which will start Python 3.9 with it."""
    interpreter = os.environ.get("OPSETLIFT_PYTHON39")
    if not interpreter:
        raise SystemExit(f"onnxruntime {version} needs Python 3.9: set OPSETLIFT_PYTHON39 to its interpreter")
    site = python.parent.parent / "site"
    site.mkdir(parents=True, exist_ok=True)
    _fetch(f"onnxruntime=={version}", "3.7", site)
    _fetch("numpy<1.22", "3.9", site)
    (module,) = (site / "onnxruntime" / "capi").glob("onnxruntime_pybind11_state*.so")
    content = module.read_bytes()
    for name, other in _RENAMED.items():
        content = content.replace(name, other)
    module.unlink()
    (module.parent / "onnxruntime_pybind11_state.so").write_bytes(content)
    library = site / "for_python37.so"
    _compile(interpreter, library)
    (site / "sitecustomize.py").write_text(_START.format(str(library)))
    python.parent.mkdir(exist_ok=True)
    python.write_text(_STARTER.format(site, interpreter))
    python.chmod(0o755)


def _fetch(requirement: str, python_version: str, site: Path) -> None:
    with TemporaryDirectory() as folder:
        options = ["--no-deps", "--only-binary=:all:", "--python-version", python_version, "-d", folder]
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", *options, requirement], check=True)
        for wheel in Path(folder).glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(site)


def _compile(interpreter: str, library: Path) -> None:
    question = "import sysconfig; print(sysconfig.get_path('include'))"
    asked = subprocess.run([interpreter, "-c", question], check=True, capture_output=True, text=True)
    headers = Path(asked.stdout.strip())
    command = ["cc", "-shared", "-fPIC", "-O1", f"-I{headers}", f"-I{headers.parent}", "-xc", "-", "-o", str(library)]
    subprocess.run(command, input=_LIBRARY, text=True, check=True)
