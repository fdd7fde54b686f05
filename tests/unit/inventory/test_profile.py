import json

import pytest

from hyperflow.catalog.calibration import default_calibration
from hyperflow.errors import InputError
from hyperflow.inventory.calibration_file import calibration_text, read_calibration
from hyperflow.inventory.profile import read_profile

LAYER = {"device": "A100", "tp": 1, "micro_batch_size": 2, "forward_seconds": 0.01, "backward_seconds": 0.02}


def written(tmp_path, value, name="profile.json"):
    path = tmp_path / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_json_and_csv_profiles_read_alike(tmp_path):
    as_json = read_profile(written(tmp_path, {"layers": [LAYER]}))
    text = ",".join(LAYER) + "\n" + ",".join(str(value) for value in LAYER.values()) + "\n"
    assert read_profile(written(tmp_path, text, "profile.csv")) == as_json
    assert as_json.layers[0].device == "A100-80GB-SXM"
    assert as_json.layers[0].layer is None


def test_a_measurement_of_the_very_layer_and_configuration_wins(tmp_path):
    rows = [
        LAYER,
        LAYER | {"layer": 3, "forward_seconds": 0.5},
        LAYER | {"tp": 4, "forward_seconds": 0.7},
        LAYER | {"layer": "head", "forward_seconds": 0.9},
    ]
    profile = read_profile(written(tmp_path, {"layers": rows}))

    def forward(tp, micro_batch_size, layer):
        found = profile.measured("A100-80GB-SXM", tp, micro_batch_size, layer)
        return found.forward_seconds if found else None

    assert [forward(1, 2, 3), forward(1, 2, 0), forward(4, 2, 0), forward(8, 2, 0)] == [0.5, 0.01, 0.7, 0.7]
    assert [forward(1, 2, "head"), forward(1, 2, "embedding")] == [0.9, None]


def test_links_and_own_devices_are_read(tmp_path):
    link = {"a": "x", "b": "y", "bytes_per_second": 1e10, "round_trip_seconds": 0.02, "curve": [[1e6, 0.02]]}
    own = {"name": "odd box", "like": "T4", "network_bytes_per_second": 3e8, "scaleup_domain": 4}
    profile = read_profile(written(tmp_path, {"links": [link], "devices": [own]}))
    assert profile.links[0].curve == ((1e6, 0.02),)
    device = profile.device("odd box")
    assert device is not None
    assert (device.network_bytes_per_second, device.scaleup_domain, device.memory_bytes_per_second) == (3e8, 4, 320e9)


def test_every_unusable_entry_is_named(tmp_path):
    """HF608: the whole text of one, and the place of all."""
    path = written(
        tmp_path,
        {
            "layers": [LAYER | {"forward_seconds": "fast"}, {"device": "A100"}, LAYER | {"backward_seconds": -1}],
            "devices": [{"name": "x", "like": "Z9000"}],
        },
    )
    with pytest.raises(InputError) as caught:
        read_profile(path)
    findings = caught.value.findings
    assert [finding.where.removeprefix(f"{path}: ") for finding in findings] == [
        "devices[0]", "layers[0]", "layers[1]", "layers[2]",
    ]  # fmt: skip
    assert findings[1].as_text() == (
        "error[HF608] the profile cannot be used: layers[0]: forward_seconds is 'fast', expected a number\n"
        f"  --> {path}: layers[0]\n"
        "  hint: see docs/cost.md, Profiles, for the form"
    )


@pytest.mark.parametrize("content", ["[]", "{}", '{"layers": 3}'])
def test_a_profile_that_measures_nothing_is_refused(tmp_path, content):
    with pytest.raises(InputError) as caught:
        read_profile(written(tmp_path, content))
    assert caught.value.findings[0].message == ("the profile cannot be used: layers: no layer and no link was measured")


def test_a_calibration_survives_its_file(tmp_path):
    text = calibration_text(default_calibration())
    again = read_calibration(written(tmp_path, text, "calibration.yaml"))
    assert calibration_text(again) == text


@pytest.mark.parametrize(
    ("content", "trouble"),
    [
        ("{}", "schema is missing"),
        ("schema: other", "schema is 'other', expected 'hyperflow.calibration/v1'"),
        ("- 1\n- 2", "schema is missing"),
        ("schema: hyperflow.calibration/v1\ndevices: {}\nfamilies: {}\nfallback: {}", "constants is missing"),
    ],
)
def test_a_file_that_is_no_calibration_is_refused(tmp_path, content, trouble):
    """HF604: the whole text."""
    path = written(tmp_path, content, "calibration.yaml")
    with pytest.raises(InputError) as caught:
        read_calibration(path)
    assert str(caught.value) == (
        f"error[HF604] not a calibration file: {trouble}\n"
        f"  --> {path}\n"
        "  expected a file that hyperflow calibrate wrote\n"
        "  hint: hyperflow calibrate RUNS.csv -o FILE writes one"
    )
