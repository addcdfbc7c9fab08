"""Tables of proofs: what is not proved stays in them and says why."""

from __future__ import annotations

from perfmodel.report.probes import isolation_table
from scripts.lab.pages import BEGIN, isolation_page
from tests.store.test_files_isolation import isolation

FAILED = isolation(kernel="waits", rounds_s=(), parameters={}, status="constraint", message="too large")


def test_a_table_names_what_is_not_proved():
    text = isolation_table([isolation(), FAILED])
    assert "1 of 2 variants proved; not all proved: waits." == text.splitlines()[-1]
    proved, failed = text.splitlines()[1:3]
    assert ["adds", "form=chain", "op_float32_add", "k", "=", "8"] == proved.split()[:6]
    assert proved.split()[-3:] == ["82%", "50%", "proved"]
    assert failed.endswith("**not proved**: too large")


def test_a_page_keeps_what_a_person_wrote_and_drawing_it_twice_changes_nothing():
    page = isolation_page(f"# Words\n\n{BEGIN}\n\nold table", [[isolation()]])
    assert page.startswith(f"# Words\n\n{BEGIN}\n\n## a device\n\na platform, driver 1. 1 of 1 variants proved.")
    assert "old table" not in page
    assert "| adds | form=chain | op_float32_add | k = 8 |" in page
    assert page == isolation_page(page, [[isolation()]])
    assert "No device has been measured yet." in isolation_page(page, [])
