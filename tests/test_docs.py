"""What the pages say is true: their Python runs, their links lead somewhere, the tour visits every room.

A fenced block marked `python` runs, the blocks of a page one after the other in one namespace: with `>>>` as a doctest,
without as a program. A block that can't run has a comment with the reason right before it: `<!-- not run: reason -->`.
"""

import doctest
import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]

BLOCK = re.compile(
    r"^(?P<skip><!-- not run: \S.*-->\n+)?(?P<indent> *)```python\n(?P<source>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
LINK = re.compile(r"\]\((?!https?://|#)(?P<target>[^)#\s]+)")


class Block(NamedTuple):
    source: str
    line: int


def blocks(text: str) -> list[Block]:
    found = []
    for match in BLOCK.finditer(text):
        if not match["skip"]:
            width = len(match["indent"])
            source = "".join(line[width:] or "\n" for line in match["source"].splitlines(keepends=True))
            found.append(Block(source, text.count("\n", 0, match.start("source"))))
    return found


def run(page: Path, text: str) -> int:
    """Runs the page's blocks and returns how many there were."""
    namespace: dict[str, object] = {"__name__": page.stem}
    found = blocks(text)
    for block in found:
        if ">>>" in block.source:
            example = doctest.DocTestParser().get_doctest(block.source, namespace, page.name, str(page), block.line)
            runner = doctest.DebugRunner(optionflags=doctest.ELLIPSIS)
            runner.run(example, clear_globs=False)
            namespace = example.globs
        else:
            # Blank lines before it, so that a traceback and `inspect.getsource` find the page's own lines.
            exec(compile("\n" * block.line + block.source, page, "exec"), namespace)
    return len(found)


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page.read_text(encoding="utf-8"))], ids=page_id)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(page, page.read_text(encoding="utf-8"))


def test_the_readme_has_an_example() -> None:
    assert blocks((ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page: Path) -> None:
    targets = [match["target"] for match in LINK.finditer(page.read_text(encoding="utf-8"))]
    assert not [target for target in targets if not (page.parent / target).exists()]


def test_the_tour_visits_every_room() -> None:
    tour = (ROOT / "docs" / "rooms.md").read_text(encoding="utf-8")
    rooms = {
        path.stem for path in (ROOT / "lamina").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert not [room for room in sorted(rooms) if f"## `{room}`" not in tour and not room.startswith("__")]


def test_decisions_are_numbered_and_listed() -> None:
    assert [int(page.name[:4]) for page in DECISIONS] == list(range(1, len(DECISIONS) + 1))
    index = (ROOT / "docs" / "decisions" / "index.md").read_text(encoding="utf-8")
    for page in DECISIONS:
        title = page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        assert f"[{title}]({page.name})" in index


PROGRAM = """
<!-- not run: the name is not there -->
```python
nonsense
```

```python
x = 2
```

- an item:

  ```python
  >>> x + 1
  {}
  ```
"""


def test_a_right_page_runs(tmp_path: Path) -> None:
    assert run(tmp_path / "page.md", PROGRAM.format(3)) == 2


def test_a_wrong_page_fails(tmp_path: Path) -> None:
    with pytest.raises(doctest.DocTestFailure):
        run(tmp_path / "page.md", PROGRAM.format(4))
    with pytest.raises(NameError, match="nonsense"):
        run(tmp_path / "page.md", "```python\nnonsense\n```\n")
