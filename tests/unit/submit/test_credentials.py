"""Where the client gets its credentials, what it says when there are none, and that they are never shown."""

import base64
import json
import logging
import shutil
import subprocess
from pathlib import Path

import certifi
import pytest
import yaml

from hyperflow.cli import main
from hyperflow.errors import HyperFlowError, InputError
from hyperflow.inventory.bundle_reader import read_bundle
from hyperflow.submit import exec_credential
from hyperflow.submit.plane import Plane, connect
from hyperflow.submit.server_kinds import QUEUE
from hyperflow.submit.snapshot import JobName
from hyperflow.submit.submit_bundle import apply_bundle
from hyperflow.submit.transport import KubernetesTransport
from hyperflow.submit.watch import Pace, follow
from tests.api_server.answers import refuse
from tests.api_server.faults import Fault
from tests.live_plane import live_plane, write_bundle

SUBMIT = Path(__file__).parents[3] / "hyperflow" / "submit"
VERSION = "client.authentication.k8s.io/v1"


def _token(**claims):
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({}, claims)]
    return ".".join([*parts, "signature"])


EXPIRED = {
    "id-token": _token(exp=1), "refresh-token": "hidden-word", "client-id": "c", "client-secret": "hidden-word",
    "idp-issuer-url": "https://127.0.0.1:1", "idp-certificate-authority": certifi.where(),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_bundle(tmp_path_factory.mktemp("bundle") / "out")


@pytest.fixture
def live(tmp_path, monkeypatch):
    with live_plane(tmp_path, monkeypatch) as plane:
        yield plane


def change_config(live, change):
    """Write the kubeconfig anew; `change` sees its one cluster and its one user."""
    config = yaml.safe_load(live.server.kubeconfig())
    change(config["clusters"][0]["cluster"], config["users"][0]["user"])
    live.kubeconfig.write_text(yaml.safe_dump(config))


def use_plugin(live, command, *args, **more):
    def change(_cluster, user):
        user.clear()
        user["exec"] = {
            "apiVersion": VERSION,
            "command": command,
            "args": list(args),
            "interactiveMode": "Never",
            **more,
        }

    change_config(live, change)


def write_credential(path, token="test-token", **more):
    path.write_text(json.dumps({"apiVersion": VERSION, "kind": "ExecCredential", "status": {"token": token}, **more}))
    return str(path)


def test_an_exec_plugin_gives_the_token(live, tmp_path):
    use_plugin(live, "cat", write_credential(tmp_path / "credential.json"))
    found = connect("plane").get(QUEUE, "llm")
    assert found is not None
    assert found["status"]["state"] == "Open"


@pytest.mark.parametrize(
    ("command", "args", "more", "told"),
    [
        (
            "sh",
            ["-c", "echo login expired, token=hidden-word >&2; exit 3"],
            {},
            "got exit code 3: login expired, token=***, expected exit code 0\n  hint: run sh by hand, or log in again",
        ),
        (
            "sh",
            ["-c", "sleep 60 & sleep 60"],
            {},
            "got no answer in 0.2 s, expected an ExecCredential\n  hint: run sh by hand, or log in again",
        ),
        (
            "echo",
            ["hidden-word"],
            {},
            "got output that is not JSON, expected an ExecCredential\n  hint: run echo by hand, or log in again",
        ),
        (
            "echo",
            [json.dumps({"apiVersion": VERSION, "kind": "ExecCredential", "status": {}})],
            {},
            "got no status.token, expected a token, or a certificate with its key\n"
            "  hint: run echo by hand, or log in again",
        ),
        (
            "echo",
            ['{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1beta1"}'],
            {},
            "got kind 'ExecCredential', apiVersion 'client.authentication.k8s.io/v1beta1', expected kind "
            f"ExecCredential, apiVersion {VERSION}\n  hint: run echo by hand, or log in again",
        ),
        (
            "no-such-login",
            [],
            {"installHint": "install no-such-login first"},
            "got no such command, expected the plugin on the PATH\n  hint: install no-such-login first",
        ),
        (
            "cat",
            [],
            {"interactiveMode": "Always"},
            "got it needs a terminal (interactiveMode Always), expected a terminal\n"
            "  hint: run cat by hand, or log in again",
        ),
    ],
    ids=["fails", "hangs", "no JSON", "no token", "other version", "absent", "needs a terminal"],
)
def test_a_plugin_that_gives_no_credential_is_a_finding(live, monkeypatch, capfd, command, args, more, told):
    monkeypatch.setattr(exec_credential, "PLUGIN_SECONDS", 0.2 if "sleep" in str(args) else 60.0)
    use_plugin(live, command, *args, **more)
    assert main(["status", "toy8"]) == 1
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err == (
        f"error[HF531] the credential plugin {command} of context plane gives no credential\n"
        f"  --> kubeconfig\n  {told}\n"
    )
    assert live.server.faults.requests == [], "no request is sent without a credential"


def _by_plugin(live, path, token):
    use_plugin(live, "cat", write_credential(path, token))


def _by_file(live, path, token):
    path.write_text(token)

    def change(_cluster, user):
        user.clear()
        user["tokenFile"] = str(path)

    change_config(live, change)


@pytest.mark.parametrize("give", [_by_plugin, _by_file])
def test_a_token_that_expires_while_a_job_is_followed_is_fetched_anew_even_if_late(live, tmp_path, folder, give):
    """The server stops taking the token at once, and its successor comes a minute later."""
    bundle = read_bundle(folder)
    give(live, tmp_path / "given", "test-token")
    plane = Plane(transport=KubernetesTransport(), clock=live.clock)
    apply_bundle(plane, bundle)
    job = JobName(job=bundle.job, name=bundle.name, namespace=bundle.namespace)
    heard, states = [], []
    for status in follow(plane, job, Pace(pause_seconds=1), on_step=heard.append):
        states.append(status.state)
        if status.state == "RUNNING" and live.server.tokens == {"test-token"}:
            live.server.tokens = {"second"}
            live.clock.at(live.clock.now() + 60, lambda: give(live, tmp_path / "given", "second"))
            for group in ("beijing", "shanghai"):
                live.controllers.script[f"{bundle.name}-{group}-0"] = ["Completed"]
    assert states[-1] == "COMPLETED"
    assert heard == ["the server does not accept these credentials (401 Unauthorized); asking again"]
    assert live.clock.now() >= 60


def test_a_token_that_was_never_good_ends_at_once(live):
    live.server.tokens = set()
    with pytest.raises(HyperFlowError) as caught:
        next(follow(live.plane, JobName(job="toy8", name="toy8", namespace="default")))
    assert caught.value.findings[0].code == "HF504"
    assert live.clock.now() == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("users: [{name: u, user: {token: hidden-word}}\n", "{path}:2: expected ',' or ']', but got '<stream end>'"),
        ("hidden-word", "{path} is no mapping"),
        ("", "{path} is no mapping"),
        ("\x00hidden-word", "{path}: ReaderError"),
        ("current-context: plane\nusers: hidden-word\n", "users in {path} is no list"),
        ("current-context: plane\nusers: [hidden-word]\n", "an item of users in {path} has no name or no user"),
        ("current-context: plane\nclusters: 3\n", "clusters in {path} is no list"),
        ("clusters: [{name: c, cluster: {server: 3}}]\n", "server of cluster 'c' in {path} is no text"),
        ("users: [{name: u, user: {tokenFile: 3}}]\n", "tokenFile of user 'u' in {path} is no text"),
        ("users: [{name: u, user: {password: 1234}}]\n", "password of user 'u' in {path} is no text"),
        ("users: [{name: u, user: {exec: hidden-word}}]\n", "exec of user 'u' in {path} is no mapping"),
        ("contexts: [{name: c, context: {cluster: [c]}}]\n", "cluster of context 'c' in {path} is no text"),
        ("users: []\n", "no file sets current-context"),
        (
            "current-context: plane\ncontexts: [{name: plane, context: {cluster: c, user: u}}]\n",
            "Invalid kube-config file. Expected object with name c in {path}/clusters list",
        ),
    ],
)
def test_a_bad_kubeconfig_is_a_finding_that_quotes_none_of_it(live, capsys, text, reason):
    live.kubeconfig.write_text(text)
    assert main(["status", "toy8"]) == 1
    said = capsys.readouterr()
    context = "context 'plane'" if "Invalid" in reason else "the current context"
    assert said.err == (
        f"error[HF502] no connection settings for {context}: {reason}\n  --> kubeconfig\n"
        "  hint: kubectl config get-contexts lists the contexts; KUBECONFIG names the file\n"
    ).replace("{path}", str(live.kubeconfig))


def test_without_a_kubeconfig_the_finding_names_the_file(live, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "absent"))
    assert main(["status", "toy8"]) == 1
    assert capsys.readouterr().err == (
        f"error[HF502] no connection settings for the current context: there is no file {tmp_path / 'absent'}, "
        "and this is no pod\n  --> kubeconfig\n"
        "  hint: kubectl config get-contexts lists the contexts; KUBECONFIG names the file\n"
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda cluster, _user: cluster.pop("server"), "cluster 'plane' has no server"),
        (
            lambda cluster, _user: cluster.update({"proxy-url": "odd://proxy"}),
            "Proxy URL had unsupported scheme odd, should use http:// or https://",
        ),
        (
            lambda cluster, _user: cluster.update({"server": "https://plane", "certificate-authority": "absent.pem"}),
            "File does not exist: {folder}/absent.pem",
        ),
        (
            lambda _cluster, user: user.update({"auth-provider": {"name": "oidc", "config": {}}}),
            "auth-provider oidc has no idp-certificate-authority, so its token would be renewed unprotected",
        ),
        (
            lambda _cluster, user: user.update({"auth-provider": {"name": "gcp"}}),
            "auth-provider gcp is no longer part of Kubernetes (1.26); use its exec plugin",
        ),
        (
            lambda _cluster, user: user.update({"auth-provider": {"name": "oidc", "config": EXPIRED}}),
            "the OIDC token cannot be renewed (MaxRetryError); log in again",
        ),
    ],
)
def test_settings_that_cannot_work_are_a_finding(live, change, reason):
    change_config(live, change)
    with pytest.raises(InputError) as caught:
        connect().get(QUEUE, "llm")
    finding = caught.value.findings[0]
    assert finding.code == "HF502"
    wanted = reason.replace("{folder}", str(live.kubeconfig.parent))
    assert finding.message == f"no connection settings for context 'plane': {wanted}"


def test_the_first_of_several_files_chooses_the_context_and_relative_paths_are_its_own(live, tmp_path, monkeypatch):
    second = tmp_path / "second"
    second.mkdir()
    (second / "token").write_text("test-token")
    config = yaml.safe_load(live.server.kubeconfig())
    config["users"][0] = {"name": "user", "user": {"tokenFile": "token"}}
    users = {"apiVersion": "v1", "kind": "Config", "current-context": "other", "users": config.pop("users")}
    (second / "config").write_text(yaml.safe_dump(users))
    live.kubeconfig.write_text(yaml.safe_dump(config))
    monkeypatch.setenv("KUBECONFIG", f"{live.kubeconfig}:{second / 'config'}")
    assert connect().get(QUEUE, "llm") is not None


def test_no_code_of_ours_turns_the_verification_of_certificates_off():
    words = ("verify_ssl =", "assert_hostname =", "CERT_NONE", "verify=")
    assert [path.name for path in SUBMIT.glob("*.py") if any(word in path.read_text() for word in words)] == []


def test_a_kubeconfig_that_turns_verification_off_is_followed_with_a_note(live, folder, capsys):
    change_config(live, lambda cluster, _user: cluster.update({"insecure-skip-tls-verify": True}))
    assert main(["submit", str(folder), "--yes"]) == 0
    assert capsys.readouterr().err.endswith(
        "note[HF532] the kubeconfig turns off the verification of the server's certificate for context plane\n"
        "  --> kubeconfig\n  got insecure-skip-tls-verify: true, expected certificate-authority\n"
        "  hint: whoever sits between can read the token; HyperFlow follows the kubeconfig and never does this itself\n"
    )


def test_a_certificate_that_nobody_vouches_for_is_refused_until_the_kubeconfig_names_its_authority(live, tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with: verification was not tried against a server")
    made = "req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key.pem -out cert.pem -subj /CN=localhost"
    extra = ["-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(["openssl", *made.split(), *extra], cwd=tmp_path, check=True, capture_output=True)
    live.server.use_tls(tmp_path / "cert.pem", tmp_path / "key.pem")
    url = live.server.url.replace("http://127.0.0.1", "https://localhost")
    change_config(live, lambda cluster, _user: cluster.update({"server": url}))
    with pytest.raises(HyperFlowError) as caught:
        live.plane.get(QUEUE, "llm")
    assert caught.value.findings[0].code == "HF503"
    assert "certificate verify failed" in caught.value.findings[0].message
    authority = str(tmp_path / "cert.pem")
    change_config(live, lambda cluster, _user: cluster.update({"server": url, "certificate-authority": authority}))
    assert live.plane.get(QUEUE, "llm") is not None


def test_credentials_are_in_no_output_log_or_finding_whatever_the_server_says(live, folder, capfd, caplog, tmp_path):
    """A server that repeats the token in its refusals, and everything logged that any library logs."""
    secret = "s3cret-of-the-user"
    caplog.set_level(logging.DEBUG)
    live.server.tokens = {secret}
    use_plugin(live, "cat", write_credential(tmp_path / "credential.json", secret))
    answers = [
        refuse(403, f"user {secret} may not do this", "Forbidden"),
        refuse(400, f'admission webhook "w" denied the request: {secret}', "BadRequest"),
        refuse(422, f"Authorization: Bearer {secret}", "Invalid"),
    ]
    for answer in answers:
        live.server.plane.admit = lambda *_given, refusal=answer: refusal
        assert main(["submit", str(folder), "--yes"]) == 1
    live.server.plane.admit = lambda *_given: None
    for verb in (["submit", str(folder), "--yes"], ["status", "toy8"], ["status", "toy8", "--format", "json"]):
        assert main(verb) == 0
    live.server.faults.rules.append(lambda request: Fault(drop=True) if request.method == "DELETE" else None)
    live.server.tokens = set()
    assert main(["delete", "toy8", "--yes"]) == 1
    said = capfd.readouterr()
    assert "***" in said.err
    assert [text for text in (said.out, said.err, caplog.text) if secret in text] == []


def test_what_is_forbidden_is_named_by_verb_and_resource(live, folder, capsys):
    forbidden = refuse(403, 'jobs.batch.volcano.sh is forbidden: User "ann" cannot list', "Forbidden")

    def rule(request):
        return Fault(code=403, body=forbidden.body) if request.path.endswith("/jobs") else None

    live.server.faults.rules.append(rule)
    assert main(["submit", str(folder), "--yes"]) == 1
    assert capsys.readouterr().err == (
        'error[HF505] you may not list jobs.batch.volcano.sh: jobs.batch.volcano.sh is forbidden: User "ann" cannot '
        "list\n  --> Job default\n  expected the right to list jobs.batch.volcano.sh\n"
        "  hint: ask for a Role with verbs [list] on jobs.batch.volcano.sh; see hyperflow doctor\n"
    )
