"""Lists that are remembered between looks: when they are asked for again, and how a watch keeps them right."""

import pytest

from hyperflow.submit.plane import Watched
from hyperflow.submit.refusals import RefusedError, read_refusal, refused
from hyperflow.submit.remembered import Remembered
from hyperflow.submit.server_kinds import BINDING, HYPERJOB, JOB, QUEUE

SELECTED = "volcano.sh/hyperjob-name=wide"


class Server:
    """A server with lists by kind; remembers what it was asked for."""

    def __init__(self, prefix="", members=()):
        self.prefix, self.context = prefix, "plane"
        self.lists, self.asked, self.watches, self.members = {}, [], [], dict(members)

    def find(self, kind, namespace="", labels=""):
        self.asked.append(kind.kind)
        found = self.lists.get(kind.kind, [])
        if isinstance(found, int):
            raise refused(read_refusal(found, ""), "list", kind, namespace, self.context)
        return list(found), str(len(self.asked))

    def watch(self, kind, namespace, labels, version, seconds, is_enough):
        self.since = version
        return self.watches.pop(0)

    def member(self, cluster):
        return self.members[cluster]


def job(name, phase, version, running=0):
    meta = {"name": name, "namespace": "default", "resourceVersion": version}
    return {"metadata": meta, "status": {"state": {"phase": phase}, "running": running}}


def watched(*changes, ended="quiet", version="9"):
    return Watched(changes=changes, version=version, ended=ended)


@pytest.fixture
def plane():
    server = Server(members={"beijing": Server("/beijing")})
    server.lists["Job"] = [job("a", "Running", "1", 2), job("b", "Running", "2", 2)]
    server.members["beijing"].lists["Job"] = [job("a", "Running", "70", 2), job("b", "Running", "71", 2)]
    return server


def phases(lists, server_is_member=False):
    source = lists.member("beijing") if server_is_member else lists
    found, _ = source.find(JOB, "default", "" if server_is_member else SELECTED)
    return {item["metadata"]["name"]: item["status"]["state"]["phase"] for item in found}


def watch(lists, gather=False):
    return lists.watch(JOB, "default", SELECTED, 5, gather=gather)


def test_a_list_is_asked_for_once_a_round(plane):
    lists = Remembered(plane)
    for _ in range(3):
        lists.find(QUEUE)
    assert plane.asked == ["Queue"]
    lists.forget()
    lists.find(QUEUE)
    assert plane.asked == ["Queue", "Queue"]


def test_a_new_phase_is_news_and_asks_again_for_what_must_agree_with_it(plane):
    lists = Remembered(plane)
    for kind in (HYPERJOB, BINDING, QUEUE):
        lists.find(kind, "default")
    phases(lists)
    plane.watches.append(watched(("MODIFIED", job("a", "Completed", "3"))))
    assert watch(lists) == "told"
    plane.asked.clear()
    for kind in (HYPERJOB, BINDING, QUEUE):
        lists.find(kind, "default")
    phases(lists)
    assert plane.asked == ["HyperJob", "ResourceBinding", "Job"]


def test_another_counter_is_no_news_and_a_count_of_pods_is_but_asks_for_nothing(plane):
    lists = Remembered(plane)
    phases(lists)
    plane.watches += [
        watched(("MODIFIED", job("a", "Running", "3", 2))),
        watched(("MODIFIED", job("a", "Running", "4", 1))),
    ]
    plane.asked.clear()
    assert [watch(lists), watch(lists)] == ["quiet", "told"]
    assert phases(lists) == {"a": "Running", "b": "Running"}
    assert plane.asked == []


def test_a_change_that_a_watch_shows_outdates_what_a_member_showed_before(plane):
    lists = Remembered(plane)
    phases(lists), phases(lists, server_is_member=True)
    plane.watches.append(watched(("MODIFIED", job("a", "Failed", "3"))))
    watch(lists)
    assert phases(lists, server_is_member=True) == {"b": "Running"}


def test_a_change_that_only_a_new_list_shows_outdates_it_too(plane):
    """Else a child that ended between a watch and the next list is said to run on, as its member showed earlier."""
    lists = Remembered(plane)
    phases(lists), phases(lists, server_is_member=True)
    plane.watches.append(watched(("MODIFIED", job("a", "Completed", "3"))))
    watch(lists)
    plane.lists["Job"] = [job("a", "Completed", "3"), job("b", "Completed", "4")]
    assert phases(lists) == {"a": "Completed", "b": "Completed"}
    assert phases(lists, server_is_member=True) == {}


def test_a_deleted_child_is_gone_from_all_lists(plane):
    lists = Remembered(plane)
    phases(lists)
    everywhere, _ = lists.find(JOB)
    assert len(everywhere) == 2
    plane.lists["Job"] = [job("b", "Running", "2", 2)]
    plane.watches.append(watched(("DELETED", job("a", "Running", "5"))))
    assert watch(lists) == "told"
    assert phases(lists) == {"b": "Running"}
    assert len(lists.find(JOB)[0]) == 1


def test_a_torn_watch_goes_on_where_it_broke_and_one_without_a_line_lists_again(plane):
    lists = Remembered(plane)
    phases(lists)
    plane.watches += [watched(ended="torn", version="7"), watched(ended="torn", version="7")]
    assert watch(lists) == "quiet"
    plane.asked.clear()
    assert phases(lists) == {"a": "Running", "b": "Running"}
    assert plane.asked == []
    assert watch(lists) == "lost"
    assert plane.since == "7"
    phases(lists)
    assert plane.asked == ["Job"]


def test_an_expired_version_lists_again(plane):
    lists = Remembered(plane)
    phases(lists)
    plane.watches.append(watched(ended="refused"))
    assert watch(lists) == "lost"
    assert watch(lists) == "lost", "without a list there is nothing to watch from"
    plane.asked.clear()
    phases(lists)
    assert plane.asked == ["Job"]


@pytest.mark.parametrize(("status", "asked"), [(403, 1), (503, 2), (401, 2)])
def test_a_refusal_that_lasts_is_remembered_for_the_round_and_one_that_may_pass_is_not(plane, status, asked):
    plane.lists["Queue"] = status
    lists = Remembered(plane)
    for _ in range(2):
        with pytest.raises(RefusedError):
            lists.find(QUEUE)
    assert len(plane.asked) == asked


def test_a_member_that_is_down_is_asked_once_a_round(plane):
    plane.members["beijing"].lists["Job"] = 503
    lists = Remembered(plane)
    for _ in range(2):
        with pytest.raises(RefusedError):
            lists.member("beijing").find(JOB, "default")
    assert plane.members["beijing"].asked == ["Job"]
