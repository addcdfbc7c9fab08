"""Documents and intervals as they are printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfmodel.cli.output import CommandSettings, one_output, using
from perfmodel.errors import OptionError


def test_two_documents_do_not_share_standard_output():
    one_output(t4=Path("-"), csv=Path("a"))
    with using(CommandSettings(json=True)):
        one_output(t4=Path("a"), csv=None)
        with pytest.raises(OptionError, match=r"^--json and --out - both write to standard output; give a file"):
            one_output(out=Path("-"))
    with pytest.raises(OptionError, match=r"^--t4 - and --csv - both"):
        one_output(t4=Path("-"), csv=Path("-"))


@pytest.mark.parametrize("command", ["predict", "rank"])
def test_a_document_with_an_infinite_number_is_an_error_and_nothing_is_printed(perfmodel, command):
    document = json.loads(Path("weights.json").read_text())
    for weight in document["weights"].values():
        weight["value"] = 1e307
    Path("huge.json").write_text(json.dumps(document))
    result = perfmodel(command, "kernel.py", "-p", "n=1Mi", "--weights", "huge.json", "--json")
    assert (2, "") == (result.exit_code, result.stdout)
    message = " ".join(result.stderr.split())
    assert "the result would hold inf as '" in message
