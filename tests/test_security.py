"""What perfmodel reads cannot execute code: expressions in weights are not Python, and YAML makes plain values."""

import json
from pathlib import Path

import pytest

from perfmodel.documents import yaml_document
from perfmodel.errors import PerfModelError
from perfmodel.predicting.model import load
from tests.predicting.test_model import MODEL


@pytest.mark.parametrize("text", [
    "__import__('os').system('touch ran')", "w_a*launches + open('ran', 'w')", "().__class__", "[w_a for x in y]",
    "(lambda: w_a)()", "w_a*launches if exec('1') else 0", "f'{w_a}'", "w_a.real",
])
def test_an_expression_in_a_weights_file_is_no_python(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    MODEL.save("w.json")
    document = json.loads(Path("w.json").read_text())
    Path("w.json").write_text(json.dumps({**document, "definition": f"expr:{text}"}))
    with pytest.raises(PerfModelError):
        load("w.json")
    assert not Path("ran").exists()


def test_yaml_makes_no_objects():
    with pytest.raises(PerfModelError):
        yaml_document(b"!!python/object/apply:os.system ['touch ran']")
