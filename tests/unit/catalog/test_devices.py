from collections import Counter

import pytest

from hyperflow.catalog.data import load
from hyperflow.catalog.devices import device_names, device_of_family, device_of_instance_type, find_device, fits_memory


def test_no_spelling_means_two_devices():
    rows = load("devices.yaml")
    spellings = [{s.casefold() for s in (key, *row["aliases"], *row.get("labels", []))} for key, row in rows.items()]
    times = Counter(spelling for one in spellings for spelling in one)
    assert [spelling for spelling, count in times.items() if count > 1] == []


def test_no_machine_type_has_two_devices():
    times = Counter(kind.casefold() for row in load("devices.yaml").values() for kind in row.get("instance_types", []))
    assert [kind for kind, count in times.items() if count > 1] == []


@pytest.mark.parametrize("key", device_names())
def test_every_row_is_complete_and_names_its_source(key):
    row = load("devices.yaml")[key]
    device = find_device(key)
    assert device is not None
    assert device.sources
    assert min(device.peak_flops_bf16, device.memory_bytes, device.memory_bytes_per_second) > 0
    assert min(device.scaleup_bytes_per_second, device.scaleup_domain, device.network_bytes_per_second) > 0
    assert set(device.uncertain) - {"all"} <= row.keys()
    assert "/" in device.resource


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("h100", "H100-80GB-SXM"),
        ("NVIDIA-H100-80GB-HBM3", "H100-80GB-SXM"),
        ("nvidia-h100-mega-80gb", "H100-80GB-SXM"),
        ("AMD_Instinct_MI300X_OAM", "MI300X"),
        ("module-910b-8", "Ascend-910B"),
    ],
)
def test_a_device_is_found_by_every_spelling(name, key):
    assert find_device(name).name == key


def test_what_is_unknown_stays_unknown():
    assert find_device("NVIDIA-Z900") is None
    assert device_of_instance_type("m7i.large") is None
    assert device_of_family("a100", 64) is None
    assert device_of_family("", 80) is None


@pytest.mark.parametrize(
    ("family", "gib", "key"),
    [
        ("a100", 40, "A100-40GB-SXM"),
        ("a100", 80, "A100-80GB-SXM"),
        ("H100", 79.6, "H100-80GB-SXM"),
        ("v100", 16, "V100-16GB-SXM"),
    ],
)
def test_a_family_and_its_memory_name_a_device(family, gib, key):
    assert device_of_family(family, gib).name == key


@pytest.mark.parametrize(
    ("key", "mib"),
    [
        ("A100-40GB-SXM", 40960),
        ("A100-80GB-SXM", 81920),
        ("H100-80GB-SXM", 81559),
        ("H200-SXM", 143771),
        ("B200-SXM", 183359),
        ("GB200", 189471),
        ("H20-96GB", 97871),
        ("L40S", 46068),
        ("T4", 15360),
    ],
)
def test_the_memory_that_drivers_report_agrees_with_the_catalogue(key, mib):
    assert fits_memory(find_device(key), mib / 1024)
