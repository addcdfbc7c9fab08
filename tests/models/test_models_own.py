"""A user's own families: files, and definitions on the command line."""

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest

from perfmodel.calibration import recommended
from perfmodel.errors import FamilyError, UnknownNameError, WeightsError
from perfmodel.fitting import read_weights
from perfmodel.models import Family, find_family
from perfmodel.predicting.model import load
from tests.cli.conftest import KERNEL, no_device
from tests.cli.program import invoke, ran, refused
from tests.recorded import QUICKSTART


def test_files(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("from perfmodel.models import Family\nFAMILY = Family('mine', 'me', ('launches', 'op_*'))\n")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert Family("mine", "me", ("launches", "op_*"), definition=str(path), sha256=digest) == find_family(str(path))


@pytest.mark.parametrize(("text", "said"), [
    (None, "does not exist"), ("x = 1", "has no FAMILY"), ("FAMILY = 1", "has no FAMILY"), ("x = ", "not valid Python"),
    ("import nothing_of_the_kind", "ModuleNotFoundError"), ("raise SystemExit(0)", "SystemExit"),
    ("class Odd(BaseException): pass\nraise Odd('no')", "Odd (no)"), ("\0", "null bytes"),
    ("x = 1\nraise ValueError", "mine.py' line 2: raised ValueError (no message)"),
    ("from perfmodel import Family\nFAMILY = Family('m', 'me', ('launches'))", "has features='launches', not a tuple"),
    ("from perfmodel import Family\nFAMILY = Family('m', 'me', sums={'a': 'op_*'})", "has a='op_*', not a tuple"),
    ("from perfmodel import Family\nFAMILY = Family('m', 'me', units=None)", "that cannot be used"),
    ("from perfmodel import Family\nFAMILY = Family('m', 'me', weights=3)", "that cannot be used"),
])  # fmt: skip
def test_files_that_hold_no_family(tmp_path, text, said):
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(FamilyError, match=re.escape(said)) as caught:
        find_family(str(path))
    assert "docs/add-a-family.md" in str(caught.value)


def parts(step):
    return {"p0": "w_a*launches", **{f"p{k + 1}": step.format(k) for k in range(400)}}


@pytest.mark.parametrize(("expression", "weight", "parts", "said"), [
    ("w_a*launchs", "start=1.0", {}, "did you mean launches"),
    *(("w_a*launches", weight, {}, "a weight 'w_a' whose start or bounds are not numbers")
      for weight in ("start=len", "start='1'", "upper=None", "lower=[]")),
    *(("p400", "start=1.0", parts(step), "with its parts written out")  # a tree beyond limits
      for step in ("p{0} + 1", "sqrt(p{0})", "p{0}*p{0}")),
])  # fmt: skip
def test_expressions_and_weights_are_checked_when_the_file_is_read(tmp_path, expression, weight, parts, said):
    path = tmp_path / "mine.py"
    path.write_text(
        "from perfmodel import Family, Weight\nFAMILY = Family('mine', 'me', weights=(Weight('w_a', 's/launch', "
        f"**dict({{'start': 1.0}}, {weight})),), parts={parts!r}, expression={expression!r})\n"
    )
    with pytest.raises(FamilyError, match=re.escape(said)):
        find_family(str(path))


def test_on_the_command_line(tmp_path):
    text = "w_launch*launches + w_group*work_groups + w_load*global_load_32_stride1"
    target = tmp_path / "own.json"
    result = ran(invoke("fit", "--from", QUICKSTART, "--family", f"expr:{text}", "--output", target))
    assert "s/access" in result.stdout
    kernel = tmp_path / "kernel.py"
    kernel.write_text(KERNEL)
    result = ran(invoke("predict", kernel, "--weights", target, "-p", "n=65536"))
    result = refused(invoke("predict", kernel, "--weights", target, "-p", "n=65536", "--family", f"expr:2*({text})"))
    assert "another version of the family" in result


MINE = """
from pathlib import Path
from perfmodel import Family, Weight

with Path(__file__).with_name("runs").open("a") as stream:
    stream.write("x")

def quantities(case):
    if Path(__file__).with_name("broken").exists():
        pass
    return {"groups": case.value(case.counts.work_groups())}

FAMILY = Family("mine", "me", quantities=quantities, units={"groups": "work-group"},
    weights=(Weight("w_group", "s/work-group"), Weight("w_start", "s")),
    expression="w_start + w_group*groups", additive=False)
"""
@pytest.fixture(scope="module")
def fitted_once(tmp_path_factory) -> Path:
    """A folder with weights, and beside it one with the family's file, and a third one."""
    folder = tmp_path_factory.mktemp("own")
    for name, text in (("code/mine.py", MINE), ("weights/kernel.py", KERNEL), ("elsewhere/mine.py", "1/0")):
        (folder / name).parent.mkdir()
        (folder / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder / "elsewhere")
        result = invoke("fit", "--from", QUICKSTART, "--family", "../code/mine.py", "-o", "../weights/w.json")
    assert 0 == result.exit_code, result.stderr
    (folder / "code" / "runs").unlink()
    return folder


@pytest.fixture
def fitted(fitted_once, tmp_path, monkeypatch) -> Path:
    """A copy of these folders, with the third one as the working directory."""
    shutil.copytree(fitted_once, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy" / "elsewhere")
    monkeypatch.setattr(recommended, "identify", no_device)  # to compare the weights' own device with
    return tmp_path / "copy"


def predict(folder: Path, *options: str):
    weights = str(folder / "weights" / "w.json")
    return invoke("predict", str(folder / "weights" / "kernel.py"), "-p", "n=65536", "-w", weights, *options)


def test_the_file_runs_only_if_asked_for(fitted):
    result = refused(predict(fitted))
    assert f"--family '{fitted / 'code' / 'mine.py'}'" in result
    assert f"pm.load(path, family='{fitted / 'code' / 'mine.py'}')" in result
    with pytest.raises(WeightsError):
        load(fitted / "weights" / "w.json")
    assert not (fitted / "code" / "runs").exists()


@pytest.mark.parametrize("command", ["predict", "rank"])
def test_the_file_that_is_asked_for(fitted, command):
    weights, kernel = str(fitted / "weights" / "w.json"), str(fitted / "weights" / "kernel.py")
    result = ran(invoke(command, kernel, "-p", "n=65536", "-w", weights, "--family", "../code/mine.py", "--json"))
    (found,) = json.loads(result.stdout)["predictions" if command == "predict" else "variants"]
    model = load(weights, family="../code/mine.py")
    by_hand = model.fitted.launch_s + model.weights["w_start"] + model.weights["w_group"] * 65536 / 128
    assert pytest.approx(by_hand, rel=1e-12) == found["seconds"]
    assert "xx" == (fitted / "code" / "runs").read_text()  # once by each


def test_the_file_keeps_the_family_s_hash_and_its_place(fitted):
    document = json.loads((fitted / "weights" / "w.json").read_text())
    assert str(Path("..") / "code" / "mine.py") == document["definition"]
    assert hashlib.sha256(MINE.encode()).hexdigest() == document["definition_sha256"]
    again = read_weights(fitted / "weights" / "w.json", family=find_family("../code/mine.py"))
    assert str(fitted / "code" / "mine.py") == again.definition
    again.save(fitted / "w.json")
    assert str(Path("code") / "mine.py") == json.loads((fitted / "w.json").read_text())["definition"]


def test_a_file_that_has_changed_is_refused_and_a_name_is_never_a_file(fitted):
    (fitted / "code" / "mine.py").write_text(MINE.replace("w_start + w_group", "w_start + 2*w_group"))
    result = refused(predict(fitted, "--family", "../code/mine.py"))
    assert "was fitted with another version of the family 'mine'" in result
    assert "fit again" in result
    (fitted / "code" / "runs").unlink()
    # A weights file may name its family like a file, which `fit --family` would run
    path = fitted / "weights" / "w.json"
    for name in ("../code/mine.py", str(fitted / "code" / "mine.py"), "expr:w_start"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "definition": "", "family": name}))
        with pytest.raises(UnknownNameError):
            load(path)
    assert not (fitted / "code" / "runs").exists()


@pytest.mark.parametrize(("body", "said"), [
    ("raise SystemExit(0)", "raised SystemExit"), ("return None", "returned a value of type NoneType"),
    ("return 'groups'", "returned a value of type str"), ("return {}", "did not return 'groups'"),
    ("import numpy; return {'groups': numpy.ones(7)}", "returned 'groups' of shape (7,)"),
])  # fmt: skip
def test_quantities_that_are_none_end_in_one_error(fitted, body, said):
    """Fitted as they should be, the quantities fail where a prediction asks for them."""
    (fitted / "code" / "broken").touch()
    text, path = MINE.replace("pass", body), fitted / "weights" / "w.json"
    (fitted / "code" / "mine.py").write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps({**json.loads(path.read_text()), "definition_sha256": digest}))
    result = predict(fitted, "--family", "../code/mine.py")
    assert (2, "") == (result.exit_code, result.stdout)
    assert 1 == len(result.stderr.splitlines())
    assert f"quantities() of the family 'mine' {said}" in result.stderr
