"""`hyperflow crd`: print the HyperJob CRD that keeps every vcjob field, or say what a given one drops."""

import argparse
import sys
from typing import Any

import yaml

from hyperflow.admission.hyperjob_crd import check_crd, find_crd, patched_crd
from hyperflow.admission.problem import shown
from hyperflow.cli.output import print_findings, print_json, print_table
from hyperflow.errors import Finding, UsageError
from hyperflow.inventory.documents import read_documents

_CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_HYPERJOB = ("training.volcano.sh", "HyperJob")
_VCJOB = ("batch.volcano.sh", "Job")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--hyperjob", metavar="FILE", help="the HyperJob CRD to patch")
    parser.add_argument("--check", metavar="FILE", help="the HyperJob CRD to compare with the vcjob CRD")
    parser.add_argument("--vcjob", metavar="FILE", help="the vcjob CRD, jobs.batch.volcano.sh")
    parser.add_argument("--context", metavar="C", help="read both CRDs from this kubeconfig context")


def run(args: argparse.Namespace) -> int:
    """Print the patched CRD (YAML, or JSON with --format json), or with --check what is dropped; exit 3 then."""
    _check_usage(args)
    hyperjob, vcjob, file = _crds(args)
    if args.check:
        return _check(args, hyperjob, vcjob, file)
    document = patched_crd(hyperjob, vcjob, file)
    if args.format == "json":
        print_json(document)
    else:
        yaml.safe_dump(document, sys.stdout, sort_keys=False, allow_unicode=True, width=120)
    return 0


def _check_usage(args: argparse.Namespace) -> None:
    files = [option for option in ("hyperjob", "check") if getattr(args, option)]
    given = bool(files) + bool(args.context)
    if given != 1 or len(files) > 1 or (files and not args.vcjob) or (args.context and args.vcjob):
        raise UsageError(
            Finding(
                code="HF893",
                message="give the CRDs as files or by a context, not both and not neither",
                where="command line",
                expected="--hyperjob FILE --vcjob FILE, or --check FILE --vcjob FILE, or --context C",
                hint="hyperflow crd --help",
            )
        )


def _crds(args: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any], str]:
    if args.context:
        return _live_crds(args.context)
    file = args.hyperjob or args.check
    hyperjob = find_crd([d.value for d in read_documents(file)], *_HYPERJOB, file)
    return hyperjob, find_crd([d.value for d in read_documents(args.vcjob)], *_VCJOB, args.vcjob), args.vcjob


def _live_crds(context: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    from hyperflow.submit.live_inventory import KubernetesServer

    server = KubernetesServer(context)
    found: list[dict[str, Any]] = []
    for (group, kind), plural in ((_HYPERJOB, "hyperjobs"), (_VCJOB, "jobs")):
        answer = server.get(f"{_CRD_PATH}/{plural}.{group}", {})
        found.append(find_crd([answer] if answer else [], group, kind, f"context {context}"))
    return found[0], found[1], f"context {context}"


def _check(args: argparse.Namespace, hyperjob: dict[str, Any], vcjob: dict[str, Any], file: str) -> int:
    drops, defaults = check_crd(hyperjob, vcjob, file)
    findings = [
        Finding(code="HF891", message=f"{path} is dropped from every HyperJob", where=args.check,
                hint="apply what hyperflow crd --hyperjob FILE --vcjob FILE prints") for path in drops
    ]  # fmt: skip
    findings += [
        Finding(code="HF892", severity="warning", where=args.check,
                message=f"{row['path']} becomes {shown(row['value'])} where it is left out",
                hint="write the field in full") for row in defaults
    ]  # fmt: skip
    if args.format == "json":
        print_json({"drops": drops, "defaults": defaults}, findings)
    else:
        rows = [[path, "dropped"] for path in drops] + [
            [row["path"], f"default {shown(row['value'])}"] for row in defaults
        ]
        if rows:
            print_table(("field", "what happens"), rows)
        print_findings([f for f in findings if f.severity == "error"][:1])
        sys.stdout.write(f"{len(drops)} fields dropped, {len(defaults)} defaults of its own\n")
    return 3 if drops else 0
