"""stage.py FOLDER COMMANDS: makes the folder that Sphinx builds the site from.

Pages are the Markdown of this tree, at shorter places, with links that fit: to another page, or to
the forge for other files. COMMANDS holds the pages of the commands, of `lsm manual --markdown`. The
page of the C library is made from its header.
"""

import os
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FORGE = "https://github.com/kirchhoff-lsm/lsm"

# Where pages outside docs/ and tutorials/ come to lie.
PLACES = {
    "README.md": "overview.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "SECURITY.md": "security.md",
    "docs/site/index.md": "index.md",
}


def pages():
    """The place in the site of every page and picture, by its path in the tree."""
    places = dict(PLACES)
    for path in sorted((ROOT / "docs").rglob("*")):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix in {".md", ".png", ".svg"} and not name.startswith("docs/site/"):
            places[name] = name.removeprefix("docs/").replace("/README.md", "/index.md")
    places["tutorials/README.md"] = "tutorials/index.md"
    for path in sorted((ROOT / "tutorials").glob("*/README.md")):
        places[f"tutorials/{path.parent.name}/README.md"] = f"tutorials/{path.parent.name}.md"
    return places


# The pages beside every page: captions, and places or patterns of them, or a title with its <place> or
# <address>. Sphinx refuses a page that is in no list.
NAVIGATION = {
    "Start": ["What lsm does <overview>", "install", "tutorials/index", "gallery"],
    "How to": ["Short recipes <how-to/index>", "coming-from", "processing", "models", "segy", "positions", "readiness", "python", "pylops", "cluster", "gpu"],
    "Look up": ["configuration", "Commands <commands/lsm>", "format", "measuring", "gpu-tests", "versions", "api/*", "Go packages <https://pkg.go.dev/github.com/kirchhoff-lsm/lsm>"],
    "Understand": ["least-squares", "Numerics <numerics/index>", "performance", "collectives", "architecture", "decisions"],
    "Project": ["changes", "contributing", "extending", "testing", "style", "conduct", "security", f"Source <{FORGE}>"],
}


def navigation(folder):
    """The lists of pages, for the first page. They do not show there."""
    out = []
    for caption, entries in NAVIGATION.items():
        out += ["```{toctree}", f":caption: {caption}", ":hidden:", ""]
        for entry in entries:
            title, _, place = entry.rstrip(">").rpartition("<")
            if ":" in place:
                out.append(entry)
                continue
            for page in sorted(p for p in folder.glob(place + ".*") if p.suffix in {".md", ".rst"}):
                name = page.relative_to(folder).with_suffix("").as_posix()
                out.append(f"{title}<{name}>" if title else name)
        out += ["```", ""]
    return "\n".join(out)


TARGET = re.compile(r"(\]\(|^\[[^\]]+\]: +)([^)\s]+)", re.MULTILINE)
NAMED = re.compile(r"\[[\w-]+\.md\]\((?=[\w./-]+\.md\b)")  # gets the title of its page as text
FENCED = re.compile(r"^(```|~~~).*?^\1[`~]*$", re.MULTILINE | re.DOTALL)


def outside_fences(change, text):
    """The text with change applied to what is not in a fenced block."""
    out, end = [], 0
    for block in FENCED.finditer(text):
        out += [change(text[end : block.start()]), block.group()]
        end = block.end()
    return "".join([*out, change(text[end:])])


def relink(text, page, places):
    """The text of a page with links from its place in the site, and titles of code as captions."""
    here = os.path.dirname(page)

    def new(match):
        path, mark, anchor = match[2].partition("#")
        name = os.path.normpath(os.path.join(here, path))
        if not path or ":" in path or not (ROOT / name).exists():
            return match[0]  # Sphinx names what is nowhere
        if (ROOT / name).is_dir() and f"{name}/README.md" in places:
            name += "/README.md"
        if name in places:
            target = os.path.relpath(places[name], os.path.dirname(places[page]) or ".")
        else:
            target = f"{FORGE}/{'tree' if (ROOT / name).is_dir() else 'blob'}/main/{name}"
        return match[1] + target + mark + anchor

    text = re.sub(r'^(`{3,})(\w+) title="([^"]+)"$', r"\1{code-block} \2\n:caption: \3", text, flags=re.MULTILINE)
    return outside_fences(lambda t: NAMED.sub("[](", TARGET.sub(new, t)), text)


def listed(text):
    """A page with a list, which does not show, of the pages that it links to in its own folder."""
    names = dict.fromkeys(re.findall(r"\]\(([a-z0-9-]+)\.md\)", text))
    return text + "\n```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"


LEXERS = {".toml": "toml", ".sh": "bash", ".slurm": "bash"}


def lesson(text, folder):
    """A page of a tutorial with its files below."""
    out = [text.rstrip("\n"), "\n## Files\n", "::::{tab-set}"]
    for path in sorted(folder.iterdir(), key=lambda p: (p.suffix != ".toml", p.name != "run.sh", p.name)):
        if path.suffix in LEXERS:
            out += [f":::{{tab-item}} {path.name}", f"````{LEXERS[path.suffix]}", path.read_text().rstrip("\n"), "````", ":::"]
    return "\n".join([*out, "::::", ""])


def command(text):
    """A page of a command with links to what it names."""
    if "\n| [" in text:
        text = listed(text.replace("# lsm\n", "# Commands\n", 1))
    return outside_fences(lambda t: re.sub(r"\bdocs/([a-z]+)\.md\b", r"[](../\1.md)", t), text)


PIECE = re.compile(
    r"^/\*(?P<comment>.*?)\*/\n"
    r"(?P<code>#define[^\n]*|(?:typedef struct|enum) .*?^\}[^\n]*;|(?:typedef|int) .*?;(?=\n\n))?",
    re.DOTALL | re.MULTILINE,
)


def prose(comment):
    """A comment as reStructuredText: what is indented is code."""
    lines = [re.sub(r"^ ?\*? ?|^\t ?", "", line).rstrip() for line in comment.strip().split("\n")]
    out = []
    for part in "\n".join(lines).split("\n\n"):
        if part.startswith("    "):
            out += [".. code-block:: c", part]
        else:
            out.append(re.sub(r"`([^`]+)`", r"``\1``", part.replace("*", r"\*")))
    return "\n\n".join(out)


def c_page(header):
    """The page of the C library."""
    out = ["The C library", "=============", ""]
    for piece in PIECE.finditer(header):
        text, code = prose(piece["comment"]), piece["code"]
        if not code:
            out += [text, ""]
            continue
        kind, names = declared(code)
        out.append(f".. c:{kind}:: " + "\n   ".join(names))
        body = ["", *text.split("\n"), ""]
        if kind in ("type", "enum"):
            body += [".. code-block:: c", "", *("   " + line for line in code.replace("\t", "    ").split("\n")), ""]
        out += ["   " + line if line else "" for line in body]
    page = "\n".join(out)
    if lost := [name for name in re.findall(r"\b(lsm_\w+)\(", header) if f" {name}(" not in page]:
        sys.exit(f"include/lsm.h: functions without a comment before them: {', '.join(lost)}")
    return page


def declared(code):
    """What a piece of the header declares: its directive, and its names or signatures."""
    if found := re.match(r"#define (\w+)", code):
        return "macro", [found[1]]
    if found := re.match(r"enum (\w+)", code):
        return "enum", [found[1]]
    if found := re.search(r"^typedef .*?(\w+);$", code, re.DOTALL):
        return "type", [found[1]]
    return "function", [" ".join(f.split()) for f in code.split(";") if f.strip()]


def main(folder, commands):
    places = pages()
    for page, place in places.items():
        out = folder / place
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.suffix != ".md":
            shutil.copyfile(ROOT / page, out)
            continue
        text = relink((ROOT / page).read_text(), page, places)
        if place.endswith("/index.md"):
            text = listed(text)
        elif place.startswith("tutorials/"):
            text = lesson(text, (ROOT / page).parent)
        out.write_text(text)
    for name in ("commands", "api"):
        (folder / name).mkdir()
    for page in sorted(commands.glob("*.md")):
        (folder / "commands" / page.name).write_text(command(page.read_text()))
    shutil.copyfile(ROOT / "docs/site/python.rst", folder / "api/python.rst")
    (folder / "api/c.rst").write_text(c_page((ROOT / "include/lsm.h").read_text()))
    with (folder / "index.md").open("a") as first:
        first.write("\n" + navigation(folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
