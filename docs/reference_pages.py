"""Gives every public module of lamina a page in the reference, made from its docstrings while the site is built."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path in sorted((ROOT / "lamina").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        if any(part.startswith("_") for part in parts):
            continue
        module = ".".join(parts)
        page = f"# `{module}`\n\n::: {module}\n    options:\n      show_root_heading: false\n"
        files.append(File.generated(config, f"reference/{module}.md", content=page))
    return files
