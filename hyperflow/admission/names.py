"""Names, labels and annotations as Kubernetes demands them (apimachinery/pkg/util/validation)."""

import re

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_ENV_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_C_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PORT_NAME = re.compile(r"[-a-z0-9]+")
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")


def dns_label(name: str) -> str:
    """Say what is wrong with an RFC 1123 label, or nothing."""
    if len(name) > 63:
        return "must be no more than 63 characters"
    return "" if _LABEL.fullmatch(name) else "must be lower-case letters, digits and dashes, not at the ends"


def dns_label_1035(name: str) -> str:
    """Say what is wrong with an RFC 1035 label, which starts with a letter, or nothing."""
    if len(name) > 63:
        return "must be no more than 63 characters"
    return "" if _LABEL_1035.fullmatch(name) else "must start with a letter, then lower-case letters, digits and dashes"


def dns_subdomain(name: str) -> str:
    """Say what is wrong with an RFC 1123 subdomain, or nothing."""
    if len(name) > 253:
        return "must be no more than 253 characters"
    fine = _SUBDOMAIN.fullmatch(name)
    return "" if fine else "must be lower-case letters, digits, dashes and dots, with a letter or digit at the ends"


def qualified_name(name: str) -> str:
    """Say what is wrong with a label key (`prefix/name`), or nothing."""
    prefix, slash, part = name.rpartition("/")
    if slash and (not prefix or dns_subdomain(prefix)):
        return "the prefix before / must be a DNS subdomain"
    if not part:
        return "the name must not be empty"
    if len(part) > 63:
        return "the name must be no more than 63 characters"
    fine = _NAME_PART.fullmatch(part)
    return "" if fine else "must be letters, digits, '-', '_' or '.', with a letter or digit at the ends"


def label_value(value: str) -> str:
    """Say what is wrong with a label value, or nothing; it may be empty."""
    if len(value) > 63:
        return "must be no more than 63 characters"
    fine = not value or _NAME_PART.fullmatch(value)
    return "" if fine else "must be letters, digits, '-', '_' or '.', with a letter or digit at the ends"


def env_name(name: str) -> str:
    """Say what is wrong with the name of an environment variable, or nothing."""
    fine = _ENV_NAME.fullmatch(name) and name not in (".", "..") and not name.startswith("..")
    return "" if fine else "must be letters, digits, '_', '-' or '.', and not start with a digit"


def c_identifier(name: str) -> str:
    """Say what is wrong with a C identifier, or nothing."""
    return "" if _C_IDENTIFIER.fullmatch(name) else "must be letters, digits and '_', and not start with a digit"


def port_name(name: str) -> str:
    """Say what is wrong with the name of a container port, or nothing."""
    if len(name) > 15:
        return "must be no more than 15 characters"
    fine = _PORT_NAME.fullmatch(name) and re.search("[a-z]", name)
    if not fine or "--" in name or name.startswith("-") or name.endswith("-"):
        return "must be lower-case letters, digits and single dashes inside, with at least one letter"
    return ""


def config_key(name: str) -> str:
    """Say what is wrong with a key of a ConfigMap or Secret, or nothing."""
    if len(name) > 253:
        return "must be no more than 253 characters"
    fine = _CONFIG_KEY.fullmatch(name) and name != "." and not name.startswith("..")
    return "" if fine else "must be letters, digits, '-', '_' or '.'"


def cluster_name(name: str) -> str:
    """Say what is wrong with the name of a Karmada cluster, or nothing."""
    return "must be no more than 48 characters" if len(name) > 48 else dns_label(name)
