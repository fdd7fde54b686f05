"""Which proxy leads to a server: as kubectl decides, for every version of the official client.

A cluster's proxy-url counts always; else HTTPS_PROXY or HTTP_PROXY by the server's scheme, unless NO_PROXY names the
host or it is this machine. Source: net/http of Go, ProxyFromEnvironment, which client-go uses.
"""

import ipaddress
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit, urlunsplit


def proxy_for(server: str, proxy_url: str, environment: Mapping[str, str]) -> tuple[str | None, dict[str, str] | None]:
    """Give the proxy's URL without its password, and the headers that carry it; None for a direct connection.

    >>> proxy_for("https://plane.example", "", {"HTTPS_PROXY": "proxy.example:3128"})
    ('http://proxy.example:3128', None)
    >>> proxy_for("https://plane.example", "", {"HTTPS_PROXY": "proxy.example:3128", "NO_PROXY": ".example"})
    (None, None)
    """
    scheme = urlsplit(server).scheme
    found = proxy_url or _first(environment, f"{scheme.upper()}_PROXY", f"{scheme}_proxy")
    if not found or (not proxy_url and _is_direct(server, _first(environment, "NO_PROXY", "no_proxy"))):
        return None, None
    parts = urlsplit(found if "://" in found else f"http://{found}")
    user, at, host = parts.netloc.rpartition("@")
    if not at:
        return urlunsplit(parts), None
    from urllib3.util import make_headers

    headers = make_headers(proxy_basic_auth=unquote(user))
    return urlunsplit(parts._replace(netloc=host)), dict(headers)


def _first(environment: Mapping[str, str], *names: str) -> str:
    return next((environment[name] for name in names if environment.get(name)), "")


def _is_direct(server: str, excluded: str) -> bool:
    parts = urlsplit(server)
    host, port = (parts.hostname or "").lower(), parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    return any(_excludes(entry.strip().lower(), host, port, address) for entry in excluded.split(",") if entry.strip())


def _excludes(
    entry: str, host: str, port: int | None, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None
) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, colon, wanted = entry.rpartition(":") if entry.count(":") == 1 else (entry, "", "")
    if colon and wanted != str(port):
        return False
    name = name.removeprefix("*")
    return host.endswith(name) if name.startswith(".") else host == name or host.endswith(f".{name}")


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
