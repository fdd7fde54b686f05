"""Size limits of the store behind the API server."""

from hyperflow.errors import Finding
from hyperflow.ir.bundle import Bundle

OBJECT_LIMIT_BYTES = 1_500_000
"""etcd refuses requests over 1.5 MiB (--max-request-bytes 1572864); the server adds managedFields to what we send."""


def check_sizes(bundle: Bundle) -> list[Finding]:
    """Find files (HF419) that are larger than the store takes."""
    return [
        Finding(
            code="HF419",
            message=f"the object has {size} bytes, the store takes {OBJECT_LIMIT_BYTES}",
            where=file.path,
            got=f"{size} bytes",
            expected=f"at most {OBJECT_LIMIT_BYTES} bytes",
            hint="shorten arguments and variables, or use mode direct: one object a child",
        )
        for file in bundle.files
        if (size := len(file.text.encode())) > OBJECT_LIMIT_BYTES
    ]
