"""Every Python block of the documentation runs, page by page, or says why it does not."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy
import pytest

ROOT = Path(__file__).resolve().parents[2]


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


pages = load("_pages")

PAGES = [
    str(path.relative_to(ROOT))
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
    if "_build" not in path.parts and path.parent != ROOT / "docs" / "reference" / "api"
]
WITH_CODE = [
    page for page in PAGES if pages.python_blocks((ROOT / page).read_text(encoding="utf-8"))
]


@pytest.mark.skipif(
    numpy.lib.NumpyVersion(numpy.__version__) < "2.0.0",
    reason="the pages show how NumPy 2 prints scalars",
)
@pytest.mark.parametrize("page", WITH_CODE)
def test_the_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ROOT / page
    monkeypatch.chdir(tmp_path)
    problems = pages.run_page(path, path.read_text(encoding="utf-8"))
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("page", PAGES)
def test_a_reason_is_a_reason(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in pages.blocks(text):
        if block.reason is not None:
            assert len(block.reason.split()) > 2, f"{page}:{block.line}: say why in a few words"


def test_the_front_page_and_the_readme_have_examples() -> None:
    assert {"README.md", str(Path("docs", "index.md"))} <= set(WITH_CODE)


EXAMPLE = """
# Title

```python
x = 1
```

:::{note}
```{code-block} python
:caption: indented in a note

assert x == 1
y = x + 1
```
:::

<!-- not run: there is no such module -->
```python
import no_such_module
```

1. In a list:

   ```python
   >>> y
   3
   >>> y + 1
   3
   ```

```console
$ not python
```
"""


def test_blocks_share_names_and_a_wrong_output_is_reported_with_its_line(tmp_path: Path) -> None:
    found = pages.python_blocks(EXAMPLE)
    assert [block.reason is None for block in found] == [True, True, False, True]
    (problem,) = pages.run_page(tmp_path / "page.md", EXAMPLE)
    assert 'page.md", line 25' in problem
    assert "Expected:\n    3\nGot:\n    2" in problem


def test_a_block_that_raises_fails_the_page_at_its_line(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        pages.run_page(tmp_path / "page.md", "text\n\n```python\nx = 1\nx / 0\n```\n")
    assert caught.traceback[-1].lineno == 4
    assert sys.modules["__main__"] is not None


def test_functions_of_a_page_are_found_where_pickle_looks_for_them(tmp_path: Path) -> None:
    text = "```python\nimport pickle\ndef f(): pass\nassert pickle.loads(pickle.dumps(f)) is f\n```"
    before = sys.modules["__main__"]
    assert pages.run_page(tmp_path / "page.md", text) == []
    assert sys.modules["__main__"] is before
