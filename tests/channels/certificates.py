"""An authority of the tests' own, and what it signs: certificates for this host, for another one, and one outdated."""

from __future__ import annotations

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HERE = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]
YESTERDAY = dt.datetime.now(dt.UTC) - dt.timedelta(days=1)


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as files; what a script of the mail server names."""

    cert: str
    key: str

    def offered(self, **rules: object) -> dict[str, object]:
        return {"cert": self.cert, "key": self.key, "offers_tls": ["AUTH PLAIN LOGIN"], **rules}


@dataclass(frozen=True)
class Certificates:
    authority: str
    good: Pair
    of_another_host: Pair
    outdated: Pair

    @classmethod
    def made(cls, folder: Path) -> Certificates:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Tests")])
        root = (
            builder(name, name, key.public_key(), dt.timedelta(days=2))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        (folder / "authority.pem").write_bytes(root.public_bytes(serialization.Encoding.PEM))

        def signed(stem: str, names: list[x509.GeneralName], lasting: dt.timedelta) -> Pair:
            own = ec.generate_private_key(ec.SECP256R1())
            subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, stem)])
            leaf = (
                builder(subject, name, own.public_key(), lasting)
                .add_extension(x509.SubjectAlternativeName(names), critical=False)
                .sign(key, hashes.SHA256())
            )
            pair = Pair(str(folder / f"{stem}.pem"), str(folder / f"{stem}.key"))
            Path(pair.cert).write_bytes(leaf.public_bytes(serialization.Encoding.PEM))
            form = serialization.PrivateFormat.PKCS8
            Path(pair.key).write_bytes(
                own.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
            )
            return pair

        two_days, an_hour = dt.timedelta(days=2), dt.timedelta(hours=1)
        return cls(
            str(folder / "authority.pem"),
            signed("good", list(HERE), two_days),
            signed("another", [x509.DNSName("mail.example.org")], two_days),
            signed("outdated", list(HERE), an_hour),
        )


def builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, lasting: dt.timedelta
) -> x509.CertificateBuilder:
    """From yesterday on, for so long."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(YESTERDAY)
        .not_valid_after(YESTERDAY + lasting)
    )
