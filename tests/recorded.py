"""The devices whose measurements are committed, by name: other folders beside them are a user's own."""

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "fitted_weights"
INTEL, POCL = FOLDER / "intel-xeon", FOLDER / "pocl-skylake-avx512-intel-xeon"
DEVICES = (INTEL, POCL)
#: Two devices whose probes are committed too.
PROBED = (FOLDER / "intel-amd-epyc", FOLDER / "pocl-skylake-avx512-amd-epyc")
#: Times of a simulator, apart from those of devices.
SIMULATED = FOLDER / "gpgpu-sim-gtx480"
#: Times that others recorded on a card.
RECORDED = FOLDER / "nvidia-titan-v"
#: Times of a quick campaign, with weights that a test fits anew.
QUICKSTART = FOLDER.parent / "docs" / "data" / "quickstart"
