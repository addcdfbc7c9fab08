"""Certificates for tests of TLS, made with the program openssl."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@dataclass(frozen=True)
class Certificates:
    """An authority's certificate, and a certificate that it signed with its key; all in files."""

    authority: Path
    cert: Path
    key: Path

    @property
    def options(self) -> tuple[str, ...]:
        """As ``perfmodel worker`` takes them."""
        return "--tls-ca-file", str(self.authority), "--tls-cert", str(self.cert), "--tls-key", str(self.key)

    @property
    def security(self) -> Any:
        """For Dask, in every role."""
        from distributed import Security

        pair, roles = {"cert": str(self.cert), "key": str(self.key)}, ("client", "scheduler", "worker")
        files = {f"tls_{role}_{name}": file for role in roles for name, file in pair.items()}
        return Security(tls_ca_file=str(self.authority), require_encryption=True, **files)


def certificates(folder: Path) -> Certificates:
    """Make an authority in a new folder, and a certificate of it that is valid for a day."""
    folder.mkdir()

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    subject = ("-subj", f"/CN={folder.name}")
    openssl("req", "-x509", *NEW_KEY, "-keyout", "ca.key", "-out", "ca.pem", "-days", "1", *subject)
    openssl("req", *NEW_KEY, "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=worker")
    signed_by = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial")
    openssl("x509", "-req", "-in", "request.pem", *signed_by, "-out", "cert.pem", "-days", "1")
    return Certificates(folder / "ca.pem", folder / "cert.pem", folder / "key.pem")
