"""Drives the stub through the official Python SDK; every promise is an assert."""

import os
import pathlib
import sys
import tempfile

from prime_sandboxes import (
    APIClient,
    APIError,
    CommandTimeoutError,
    CreateSandboxRequest,
    SandboxClient,
    SandboxNotRunningError,
    UnauthorizedError,
)
from prime_sandboxes.core import APIClient as CoreClient

IMAGE = sys.argv[1]


def request(name, **more):
    return CreateSandboxRequest(name=name, docker_image=IMAGE, labels=["sdk", name], **more)


def raises(kind, do, *args, **more):
    try:
        do(*args, **more)
    except kind as error:
        return error
    raise AssertionError(f"{do.__name__} did not raise {kind.__name__}")


def commands(client, box):
    r = client.execute_command(box, "echo out; echo err >&2; exit 3")
    assert (r.exit_code, r.stdout, r.stderr) == (3, "out\n", "err\n"), r
    r = client.execute_command(box, 'echo "$A $GIVEN $(pwd) $(id -un)"', working_dir="/tmp", env={"A": "b"})
    assert (r.exit_code, r.stdout) == (0, "b at-create /tmp root\n"), r
    r = client.execute_command(box, "id -un", user="user")
    assert r.stdout == "user\n", r
    r = client.execute_command(box, "head -c 3000000 /dev/zero | tr '\\0' x; printf '\\303'; printf '\\244'")
    assert len(r.stdout) == 3000001 and r.stdout.endswith("x\u00e4"), len(r.stdout)
    r = client.execute_command(box, "kill -9 $$")
    assert r.exit_code == -1, r
    raises(CommandTimeoutError, client.execute_command, box, "sleep 60", timeout=1)


def files(client, box):
    with tempfile.TemporaryDirectory() as d:
        local = pathlib.Path(d, "local")
        data = bytes(range(256)) * 5000
        local.write_bytes(data)
        sent = client.upload_file(box, "/srv/new/dir/file", str(local))
        assert sent.success and sent.size == len(data) and sent.path == "/srv/new/dir/file", sent
        back = pathlib.Path(d, "back")
        client.download_file(box, "/srv/new/dir/file", str(back))
        assert back.read_bytes() == data
        client.upload_bytes(box, "/srv/text", "gr\u00fc\u00df dich\n".encode(), "text")
        assert client.read_file(box, "/srv/text").content == "gr\u00fc\u00df dich\n"
        raises(APIError, client.read_file, box, "/srv/none")
        raises(APIError, client.download_file, box, "/srv/none", str(back))
        error = raises(APIError, client.upload_bytes, box, "/srv/big", b"x" * ((16 << 20) + 1), "big")
        assert "413" in str(error), error


def background(client, box):
    job = client.start_background_job(box, 'echo "$A"; pwd; echo bad >&2; exit 4', working_dir="/tmp", env={"A": "b c"})
    slow = client.start_background_job(box, "sleep 60")
    status = client.run_background_job(box, "echo done", timeout=30)
    assert status.completed and status.exit_code == 0 and status.stdout == "done\n", status
    status = client.get_background_job(box, job)
    assert (status.exit_code, status.stdout, status.stderr) == (4, "b c\n/tmp\n", "bad\n"), status
    first, second = client.get_background_job_statuses([job, slow])
    assert first.completed and first.exit_code == 4 and not second.completed, (first, second)


def lists(client, box, other):
    def ids(**more):
        return [s.id for s in client.list(**more).sandboxes]

    assert ids(labels=["sdk"]) == [other, box]
    assert ids(labels=["sdk", "one"]) == [box]
    assert ids(labels=["nobody"]) == []
    page = client.list(labels=["sdk"], per_page=1)
    assert page.total == 2 and page.has_next and [s.id for s in page.sandboxes] == [other], page
    assert ids(labels=["sdk"], per_page=1, page=2) == [box]
    got = client.get(box)
    assert got.status == "RUNNING" and got.started_at and got.labels == ["sdk", "one"] and got.cpu_cores == 2, got
    assert got.secrets == {"TOKEN": "***"}, got.secrets
    batch = client.get_sandbox_statuses([box, "cunknown"])
    assert [s.status for s in batch.statuses] == ["RUNNING"] and [e.code for e in batch.errors] == ["NOT_FOUND"], batch
    assert client.get_logs(box) == ""


def network(client, box):
    before = client.get_network(box)
    assert before.applied and before.policy.denylist == [], before
    set_ = client.set_network(box, allow=["example.net", "*.example.org", "10.0.0.0/8"])
    assert set_.generation == before.generation + 1, set_
    while not set_.applied:
        set_ = client.get_network(box)
    assert set_.policy.allowlist == ["example.net", "*.example.org", "10.0.0.0/8"], set_
    assert client.set_network(box, deny=["*"]).policy.allowlist == []
    raises(APIError, client.set_network, "cunknown", allow=["*"])


def checkpoints(client, box):
    client.execute_command(box, "echo before >/srv/state")
    taken = client.checkpoint(box)
    taken = client.wait_for_checkpoint(taken.id, timeout_seconds=30)
    assert taken.state == "DURABLE" and taken.sandbox_id == box, taken
    client.execute_command(box, "echo after >/srv/state")
    assert [c.id for c in client.list_checkpoints(box)] == [taken.id]
    fork = client.create(CreateSandboxRequest(name="fork", checkpoint_id=taken.id, labels=["sdk-fork"]))
    client.wait_for_creation(fork.id)
    assert client.execute_command(fork.id, "cat /srv/state").stdout == "before\n"
    assert fork.docker_image == IMAGE
    assert "HTTP 409" in str(raises(APIError, client.delete_checkpoint, taken.id))
    errors = client.delete_sandbox_checkpoints(box).errors
    assert [e.code for e in errors] == ["CONFLICT"], errors
    client.delete(fork.id)
    return taken.id


def ends(client, box, other, checkpoint):
    assert client.delete(box)["success"]
    assert client.get(box).status == "TERMINATED"
    raises(SandboxNotRunningError, client.execute_command, box, "true")
    raises(SandboxNotRunningError, client.upload_bytes, box, "/srv/x", b"x", "x")
    client.delete_checkpoint(checkpoint)
    client.delete(box)
    assert "HTTP 404" in str(raises(APIError, client.delete, "cunknown"))
    gone = client.bulk_delete(labels=["sdk"])
    assert gone.succeeded == [other] and gone.failed == [], gone
    gone = client.bulk_delete(sandbox_ids=[other, "cunknown"])
    assert [f["sandbox_id"] for f in gone.failed] == ["cunknown"], gone
    assert client.list(labels=["sdk"], exclude_terminated=True).total == 0


def failures(client):
    missing = client.create(CreateSandboxRequest(name="missing", docker_image="no/such:image"))
    error = raises(SandboxNotRunningError, client.wait_for_creation, missing.id)
    assert type(error).__name__ == "SandboxImagePullError", error
    raises(UnauthorizedError, SandboxClient(CoreClient(api_key="wrong")).list)
    assert "422" in str(raises(APIError, client.create, request("large", cpu_cores=99)))


def main():
    client = SandboxClient(APIClient())
    made = request("one", cpu_cores=2, environment_vars={"GIVEN": "at-create"}, secrets={"TOKEN": "s"}, idempotency_key="k" * 32)
    box = client.create(made).id
    assert client.create(made).id == box
    other = client.create(request("two")).id
    client.bulk_wait_for_creation([box, other])
    commands(client, box)
    files(client, box)
    background(client, box)
    lists(client, box, other)
    network(client, box)
    checkpoint = checkpoints(client, box)
    ends(client, box, other, checkpoint)
    failures(client)
    assert "PRIME_API_KEY" in os.environ
    print("every step passed")


main()
