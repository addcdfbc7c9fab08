"""The docs: their Python runs and prints what it promises, commands exist, pages of models agree with the code."""

import json
import re
import sys
from pathlib import Path
from subprocess import run

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import perfmodel as pm
from perfmodel.calibration import recommended
from perfmodel.cli import application
from perfmodel.facts import read_device
from perfmodel.features import evaluate
from perfmodel.kernels import discover
from perfmodel.measuring import QUICK
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.subject import Subject
from perfmodel.opencl import Device
from perfmodel.recipes import archive
from tests.machine import device
from tests.pages import ROOT, pages

COMMITTED = ROOT / "fitted_weights" / "pocl-skylake-avx512-amd-epyc"
PAGES = {page.name: page for page in pages()}
#: Pages whose Python another test runs: with libraries that not every machine has, or as part of something larger.
ELSEWHERE = {"README.md": "test_readme.py", "docs/hooks.md": "hooks/test_docs.py"}
PROGRAMS = [name for name, page in PAGES.items() if page.program and name not in ELSEWHERE]
LINES = [(name, command) for name, page in PAGES.items() for command in page.commands]
RUN = [
    (f"docs/{name}.md", command)
    for name in ("get-started", "first-kernel", "tune")
    for command in PAGES[f"docs/{name}.md"].shown
]
COMMANDS = get_command(application()).commands
MODELS = sorted(pm.families())
USERS = {
    name: page
    for name, page in PAGES.items()
    if name.startswith("docs/") and not name.startswith(("docs/lab/", "docs/papers/"))
}
ARCHITECTURE = "docs/architecture.md"
PLACES = ("perfmodel", "perfmodel/counts")
FIGURES = json.loads((ROOT / "docs" / "data" / "figures.json").read_text(encoding="utf-8"))
#: The sections of the page of models, by the model's name.
SECTIONS = {
    name: text
    for page in ("docs/models.md", "docs/papers/models.md")
    for name, text in re.findall(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", PAGES[page].text, re.DOTALL | re.MULTILINE)
}


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """The folder of a reader who has the clone's folders, a device whose weights are committed, and no own weights."""
    used = Device(0, read_device(COMMITTED / "device.json"))
    monkeypatch.setattr(recommended, "identify", lambda selector: used)
    monkeypatch.setattr(recommended, "data_folder", lambda: tmp_path / "data")
    monkeypatch.setattr(archive, "_identity", archive._identity.__wrapped__)  # later tests see the real device
    for name in ("fitted_weights", "test_kernels", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before = {*sys.modules}
    yield tmp_path
    for name in {*sys.modules} - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def write_files(page, folder: Path) -> None:
    for name, text in page.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_python_of_a_page_runs_and_prints_what_it_promises(name, reader, capsys):
    page = PAGES[name]
    write_files(page, reader)
    exec(compile(page.program, name, "exec"), {"__name__": "page"})
    printed = capsys.readouterr().out.splitlines()
    if page.program.count("print(") > len(page.promised):  # some have no comment
        printed = [line for line in printed if line in page.promised]
    assert page.promised == printed


@pytest.mark.parametrize(
    ("name", "command"), RUN, ids=lambda value: value if isinstance(value, str) else " ".join(value)
)
def test_the_commands_of_the_first_pages_run(name, command, reader):
    write_files(PAGES[name], reader)
    found = CliRunner().invoke(application(), command[1:])
    assert 0 == found.exit_code, found.stderr
    assert any(variant in found.stdout for variant in ("strided loads", "tile 16x16", "strided=loads", "rows"))
    if command[1:] in (["rank", "transpose.py", "-p", "n=1024"], ["rank", "matvec.py", "-p", "n=4096"]):
        shown = PAGES[name].text.partition("```text\nvariant ")[2].partition("\n```")[0].splitlines()[1:3]
        assert [] == [line for line in shown if line not in found.stdout]


@pytest.mark.parametrize(("name", "command"), LINES, ids=lambda value: value if isinstance(value, str) else "-")
def test_a_command_exists_with_its_options(name, command):
    program, *arguments = command
    if program == "perfmodel":
        parse(arguments)
    else:
        script = ROOT / program
        assert script.is_file(), command
        text = script.read_text(encoding="utf-8") + read_if_there(script.with_suffix(".py"))
        options = {word.partition("=")[0] for word in arguments if word.startswith("--")}
        assert [] == [option for option in options if option not in text], command


def read_if_there(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def parse(arguments: list[str]) -> None:
    """Parse a command's options as the command line does; values are not converted."""
    if arguments[0].startswith("-"):  # of perfmodel itself
        return
    command, *rest = arguments
    found = COMMANDS[command]
    if hasattr(found, "commands"):
        found, rest = found.commands[rest[0]], rest[1:]
    context = found.context_class(found, info_name=command, **found.context_settings)
    _, rest, _ = found.make_parser(context).parse_args(rest)
    assert [] == rest


def test_the_kernel_class_of_the_page_isolates_what_it_says(reader):
    """As tests/kernels/test_contract.py asks of every class; its output is checked where it is measured."""
    write_files(PAGES["docs/measurement-kernels.md"], reader)
    (kernel,) = discover(reader / "kernels")
    for variant in kernel.variants:
        counts = pm.count(kernel.build(**variant), subgroup_size=32)
        name = kernel.isolated(variant)
        at = kernel.sizes.at(kernel.sizes.start)[0]
        once, twice = (evaluate(counts, {**at, kernel.doubles: at[kernel.doubles] * f})[name] for f in (1, 2))
        assert at["n"] * at["k"] == once
        assert 2 * once == twice


@pytest.mark.device
def test_the_kernel_class_of_the_page_computes_its_reference(reader):
    write_files(PAGES["docs/measurement-kernels.md"], reader)
    bench = Bench(device(), QUICK)
    (kernel,) = discover(reader / "kernels")
    for variant in kernel.variants_on(256, shapes=1):
        bench.check(Subject(kernel, variant))  # raises where the output is not the reference's


@pytest.mark.parametrize("name", MODELS)
def test_a_models_section_has_its_weights_with_unit_and_fact(name):
    """A section may take over the weights of another: "The weights are those of ..., and"."""
    text = SECTIONS[name]
    text += "".join(SECTIONS[other] for other in re.findall(r"The weights are those of \[`(\w+)`\]", text))
    family = pm.families()[name]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| `w_")]
    own = [one for one in family.weights if one.fact or one.name.removeprefix("w_") not in family.units]
    expected = {f"`{one.name}`": (one.unit, f"`{one.fact}`" if one.fact else "") for one in own}
    assert expected == {row[0]: (row[1], row[-1]) for row in rows if len(row) == 4}


@pytest.mark.parametrize("name", FIGURES)
def test_pages_quote_the_same_figure(name):
    """Numbers that several pages quote are in one file."""
    figure = FIGURES[name]
    assert [] == [page for page in figure["pages"] if figure["text"] not in " ".join(PAGES[page].text.split())]


def test_the_quoted_figures_are_those_of_the_table_of_other_kernels():
    """The table has errors and choices of kernels that nobody tuned the models on."""
    table = PAGES["docs/evaluation.md"].text.partition("| device | kernels |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.split("|")[2:7]] for line in table.splitlines()[2:]]
    factors = [float(row[2]) for row in rows]
    suites = [row for row in rows if row[0] == "suites, set aside"]
    regrets = [100 * float(row[3].partition(";")[0]) - 100 for row in suites]
    inside = [int(row[4].removesuffix(" %")) for row in suites]
    quoted = [figure["text"] for figure in FIGURES.values()][:3]
    assert 17 == len(rows)
    assert f"{min(factors):.1f} to {max(factors):.1f}" == quoted[0]
    assert f"{min(regrets):.0f} to {max(regrets):.0f} %" == quoted[1]
    assert f"{min(inside)} to {max(inside)} %" == quoted[2]
    paper = {line for line in PAGES["docs/lab/paper.md"].text.splitlines() if line.startswith("|") and "%" in line}
    assert set() == paper - {*PAGES["docs/evaluation.md"].text.splitlines()}


def test_files_that_a_page_names_exist():
    """Below the project's folder; the page of the architecture leaves out ``perfmodel/``."""
    named = {(name, path) for name, page in USERS.items() for path in re.findall(r"`((?:\w+/)+[\w.]*)`", page.text)}
    folders = {path.name for path in ROOT.iterdir()}
    inside = [(name, path) for name, path in named if name == ARCHITECTURE or path.partition("/")[0] in folders]
    assert len(inside) > 100
    assert [] == [pair for pair in inside if not any((ROOT / below / pair[1]).exists() for below in ("", *PLACES))]


def test_every_link_of_the_readme_leads_to_a_file():
    links = re.findall(r"\]\(([^)#:]+)(?:#[\w-]*)?\)", PAGES["README.md"].text)
    assert len(links) > 20
    assert [] == [link for link in links if not (ROOT / link).exists()]


@pytest.mark.nightly
def test_the_site_builds_without_a_warning_and_asks_no_server(tmp_path):
    found = run(["scripts/docs", str(tmp_path / "site")], cwd=ROOT, capture_output=True, text=True, check=False)
    assert 0 == found.returncode, found.stderr
    loads = re.compile(r'<(?:script|img|iframe|source|link rel="stylesheet")\b[^>]*(?:src|href)="(?:https?:)?//')
    for path in (tmp_path / "site").rglob("*.html"):
        assert loads.search(path.read_text(encoding="utf-8")) is None, path
