"""Certificates for scenarios: a CA and pairs of it, valid when and for whom a scenario wants."""
import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

# Simulated and real time are years apart: what need not end is valid in both.
LONG_AGO, FAR_AHEAD = datetime.datetime(2020, 1, 1), datetime.datetime(2050, 1, 1)
NAMES = ("vpa-webhook.kube-system.svc", "127.0.0.1")
FILES = ("caCert.pem", "serverCert.pem", "serverKey.pem")


def name_of(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def alternative(name):
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def build(subject, issuer, key, begin, end):
    return (x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(begin).not_valid_after(end))


def pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)


class Authority:
    """A CA of its own; .pem is its certificate."""

    def __init__(self, name="vpa_webhook_ca"):
        self.key, self.name = ec.generate_private_key(ec.SECP256R1()), name_of(name)
        self.certificate = (build(self.name, self.name, self.key, LONG_AGO, FAR_AHEAD)
                            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
                            .sign(self.key, hashes.SHA256()))
        self.pem = pem(self.certificate)

    def pair(self, names=NAMES, begin=LONG_AGO, end=FAR_AHEAD, client=False):
        """(certificate, key), both PEM, of a server with these names, or of a client."""
        purpose = x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH if client else x509.oid.ExtendedKeyUsageOID.SERVER_AUTH
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (build(name_of(names[0]), self.name, key, begin, end)
                       .add_extension(x509.SubjectAlternativeName([alternative(n) for n in names]), critical=False)
                       .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
                       .sign(self.key, hashes.SHA256()))
        return pem(certificate), key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                                   serialization.NoEncryption())


def write(folder, authority, certificate, key):
    """As a mounted Secret changes: another file takes each name. The order is that of upstream's files."""
    folder.mkdir(exist_ok=True)
    for name, content in (("serverKey.pem", key), ("serverCert.pem", certificate), ("caCert.pem", authority.pem)):
        fresh = folder / (name + ".new")
        fresh.write_bytes(content)
        fresh.replace(folder / name)


def make(folder, **options):
    """A new CA and a pair of it in the files that the webhook reads; returns the CA."""
    authority = Authority()
    write(folder, authority, *authority.pair(**options))
    return authority
