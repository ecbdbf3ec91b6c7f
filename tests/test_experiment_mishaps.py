"""What is left of experiments that are killed at any moment, and of files that are damaged."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import roben
from roben import data
from roben.experiment import Entry, Plan, Recipe, load_results, run
from roben.experiment.workshop import Workshop

N_WORDS = 200


def write_glue(folder: Path, n_train: int = 60, n_dev: int = 20) -> None:
    """SST-2 in GLUE's layout, of the beginnings of reviews."""
    rows = data.reviews("train").head(n_train + n_dev)
    both = zip(rows.texts, rows.labels or (), strict=True)
    lines = [f"{' '.join(str(text).split()[:7])}\t{label}" for text, label in both]
    (folder / "SST-2").mkdir(parents=True)
    for split, part in (("train", lines[:n_train]), ("dev", lines[n_train:])):
        (folder / "SST-2" / f"{split}.tsv").write_text("\n".join(["sentence\tlabel", *part]) + "\n")


@pytest.fixture(scope="module")
def glue(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("glue")
    write_glue(folder)
    return folder


@pytest.fixture
def workshop(glue, tmp_path) -> Workshop:
    return Workshop(tmp_path / "work", {"linear": Recipe()}, glue)


@pytest.fixture
def results(tmp_path) -> Path:
    return tmp_path / "results"


def comparable(results: Path) -> dict[str, str]:
    """All that results hold but how long they took."""
    return {
        path.name: json.dumps({**json.loads(path.read_text()), "seconds": None}, sort_keys=True)
        for path in sorted(results.glob("*.json"))
    }


# -- killed -------------------------------------------------------------------------------------------------

# Runs one entry again and again in processes of its own, each of which is killed just before another change of a file.
KILLED = """
import json, os, shutil, signal, sys
from pathlib import Path
import roben
from roben.experiment import Entry, Recipe, run
from roben.experiment.workshop import Workshop

top, entry = Path(sys.argv[1]), Entry.from_json(json.loads(sys.argv[2]))
work, results = top / "work", top / "results"
words = roben.Vocabulary.english(entry.n_words)
roben.Vocabulary.english = classmethod(lambda cls, n: words)

def measure(killed_at):
    if pid := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    n_changes = 0

    def hook(event, arguments):
        nonlocal n_changes
        if event == "open":
            path, mode, flags = arguments
            changes = bool(set(mode) & set("wxa+") if mode else flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
            changes = changes and not str(path).endswith(".lock")
        else:
            changes = event in ("os.rename", "os.remove", "os.rmdir") or (
                event == "os.mkdir" and not os.path.exists(arguments[0])
            )
        if changes and str(arguments[0]).startswith((str(work), str(results))):
            if n_changes == killed_at:
                os.kill(os.getpid(), signal.SIGKILL)
            n_changes += 1

    sys.addaudithook(hook)
    try:
        run([entry], Workshop(work, {"linear": Recipe()}, top / "glue"), results)
    except BaseException as error:
        print(f"after a kill at change {killed_at}: {error}", file=sys.stderr)
        os._exit(1)
    os._exit(0)

def found(folder):
    return [{**json.loads(path.read_text()), "seconds": None} for path in folder.glob("*.json")]

def clean():
    for folder in (work, results):
        shutil.rmtree(folder, ignore_errors=True)

# Here, so that all that is imported is imported once.
run([entry], Workshop(top / "undisturbed", {"linear": Recipe()}, top / "glue"), top / "expected")
expected, n_kills = found(top / "expected"), 0
assert len(expected) == 1
while True:
    clean()
    if measure(n_kills) == 0:
        break
    assert measure(None) == 0, n_kills
    assert found(results) == expected, n_kills
    n_kills += 1
print(n_kills)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks")
def test_a_run_that_is_killed_at_any_change_of_a_file_goes_on(tmp_path):
    write_glue(tmp_path / "glue", 20, 5)
    entry = json.dumps(Entry("SST-2", "components", n_words=20, attacks=("beam",), n_attacked=1).as_json())
    alone = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")  # threads do not outlive a fork
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), entry],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
        env={**os.environ, **alone},
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20  # of an encoding, a model and a result


SMALL_PLAN = """
[group.small]
task = "SST-2"
system = ["undefended", "augmentation", "components"]
seed = [0, 1]
n_words = 1000
attacks = ["beam"]
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kills")
def test_a_command_that_is_killed_at_any_moment_goes_on(glue, tmp_path):
    (tmp_path / "plan.toml").write_text(SMALL_PLAN)
    entries = Plan.load(tmp_path / "plan.toml").entries()
    run(entries, Workshop(tmp_path / "undisturbed", {"linear": Recipe()}, glue), tmp_path / "expected")
    places = {"experiments": "plan.toml", "work": "work", "results": "results", "glue-dir": glue}
    options = [str(part) for name, place in places.items() for part in (f"--{name}", tmp_path / place)]
    command = [sys.executable, "-m", "roben", "paper", "run", *options]
    rng = Random(0)

    def n_files() -> int:
        return sum(1 for folder in ("work", "results") for _ in (tmp_path / folder).rglob("*"))

    for _ in range(3):
        before = n_files()
        running = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 30
        while n_files() == before and running.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(rng.random() * 0.2)
        running.send_signal(signal.SIGKILL)
        running.wait()
    last = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert last.returncode == 0, last.stderr
    assert comparable(tmp_path / "results") == comparable(tmp_path / "expected")


def test_what_a_kill_left_of_a_result_goes_with_the_next_run(workshop, results):
    results.mkdir()
    entry = Entry("SST-2", "undefended")
    over = subprocess.Popen([sys.executable, "-c", ""])
    over.wait()
    left, at_work = (results / f".{entry.name}.json.{process}" for process in (over.pid, os.getpid()))
    for path in (left, at_work):
        path.write_text("half")
    run([replace(entry, seed=1)], workshop, results)
    assert not left.exists()
    assert at_work.exists()  # the one who writes it is at it still


# -- side by side -------------------------------------------------------------------------------------------

# Each script runs entries of two systems with six seeds, two side by side.
SIDE_BY_SIDE = """
import multiprocessing, os, signal, sys, threading, time
from pathlib import Path
from roben.classifier import RobustClassifier
from roben.experiment import Entry, Recipe
from roben.experiment.workshop import Workshop
run = sys.modules["roben.experiment.run"]

glue, top, killed = Path(sys.argv[1]), Path(sys.argv[2]), []

def kill_all(at_most=9):
    for process in sorted(multiprocessing.active_children(), key=lambda process: process.pid)[:at_most]:
        killed.append(process.pid)
        os.kill(process.pid, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)

def watch(entry, stage):
    pass

{changed}

if __name__ == "__main__":
    entries = [Entry("SST-2", system, seed=seed) for seed in range(6) for system in ("undefended", "augmentation")]
    run.run(entries, Workshop(top / "work", {{"linear": Recipe()}}, glue), top / "results", parallel=2, watch=watch)
"""
ENTRIES = [Entry("SST-2", system, seed=seed) for seed in range(6) for system in ("undefended", "augmentation")]


@pytest.fixture
def side_by_side(glue, tmp_path):
    """Starts the script with these changes. Nothing that it starts outlives the test."""
    started = []

    def side_by_side(changed: str) -> subprocess.Popen:
        (tmp_path / "run.py").write_text(SIDE_BY_SIDE.format(changed=changed))
        command = [sys.executable, str(tmp_path / "run.py"), str(glue), str(tmp_path)]
        started.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True))
        return started[-1]

    yield side_by_side
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()


ONE_KILLED = """
def watch(entry, stage):
    if stage == "done" and not killed:
        kill_all(at_most=1)
"""


def test_what_is_done_outlives_a_process_that_is_killed(side_by_side, workshop, results, tmp_path):
    process = side_by_side(ONE_KILLED)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "a process was killed" in err.splitlines()[-1]
    assert "What is done is kept" in err.splitlines()[-1]
    n_done = len(load_results(results))
    assert 1 <= n_done < len(ENTRIES)
    assert len(run(ENTRIES, workshop, results)) == len(ENTRIES) - n_done
    run(ENTRIES, replace(workshop, folder=tmp_path / "alone"), tmp_path / "expected")
    assert comparable(results) == comparable(tmp_path / "expected")


# What they tell does not fit into a pipe: they are killed in the middle of telling it, while nobody listens.
KILLED_WHILE_TELLING = """
def talkative(entry, workshop, report):
    for _ in range(9):
        report("x" * 1_000_000)
    time.sleep(60)

def watch(entry, stage):
    if not killed:
        time.sleep(0.5)
        kill_all()

run.measure = talkative
join = threading.Thread.join
threading.Thread.join = lambda self, timeout=None: join(self, timeout and 0.5)  # nor is the rest waited for, here
"""


def test_a_run_whose_processes_are_killed_while_they_tell_news_ends(side_by_side):
    """The process that was killed holds the lock of the queue, and half of its news are in there."""
    process = side_by_side(KILLED_WHILE_TELLING)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "a process was killed" in err.splitlines()[-1]


SLOW = """
def fit(self, *arguments):
    (top / f"pid-{os.getpid()}").write_text("")
    time.sleep(60)

RobustClassifier.fit = fit
"""


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(holds) -> bool:
    """Does it, within twenty seconds?"""
    until = time.monotonic() + 20
    while not holds() and time.monotonic() < until:
        time.sleep(0.05)
    return holds()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_a_run_that_is_killed(side_by_side, tmp_path, how):
    """They would wait for more to do for ever, with their memory and their share of a GPU."""
    parent = side_by_side(SLOW)
    assert wait_until(lambda: len(list(tmp_path.glob("pid-*"))) == 2)
    processes = [int(path.name[4:]) for path in tmp_path.glob("pid-*")]
    assert all(map(is_running, processes))
    parent.send_signal(how)
    assert parent.wait(timeout=10) == -how
    try:
        assert wait_until(lambda: not any(map(is_running, processes)))
    finally:
        for process in filter(is_running, processes):
            os.kill(process, signal.SIGKILL)


# -- damaged ------------------------------------------------------------------------------------------------


DAMAGES = {
    "emptied": lambda path: path.write_bytes(b""),
    "cut": lambda path: os.truncate(path, 99),
    "removed": Path.unlink,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_in_the_work_folder_is_made_again(workshop, tmp_path, monkeypatch, damage):
    words = roben.Vocabulary.english(N_WORDS)
    monkeypatch.setattr(roben.Vocabulary, "english", classmethod(lambda cls, n: words))
    entry = Entry("SST-2", "components", n_words=N_WORDS)
    run([entry], workshop, tmp_path / "before")
    files = sorted(path for kind in ("encodings", "models") for path in workshop.folder.glob(f"{kind}/[!.]*/**/*"))
    files = [path for path in files if path.is_file() and path.stat().st_size > 99]
    assert len(files) > 6
    for i, path in enumerate(files):
        DAMAGES[damage](path)
        assert run([entry], workshop, tmp_path / str(i)) == [entry]
        assert comparable(tmp_path / str(i)) == comparable(tmp_path / "before")
        assert path.stat().st_size > 99


INTERRUPTED = """
import sys, time
from pathlib import Path
from roben.classifier import RobustClassifier
from roben.experiment import Entry, Recipe, run
from roben.experiment.workshop import Workshop
top = Path(sys.argv[1])
def fit(self, *a):
    (top / f"fit-{time.time()}").write_text("")
    time.sleep(4)
RobustClassifier.fit = fit
if __name__ == "__main__":
    entries = [Entry("SST-2", "augmentation", seed=seed) for seed in range(8)]
    run(entries, Workshop(top / "work", {"linear": Recipe()}, top), top / "results", parallel=2)
"""


def test_an_interrupt_begins_nothing_more_and_waits_for_nothing(tmp_path):
    """Groups that were queued used to be measured to their end: hours, with BERT."""
    (tmp_path / "SST-2").mkdir()
    for split in ("train", "dev"):
        (tmp_path / "SST-2" / f"{split}.tsv").write_text("sentence\tlabel\na good film\t1\na bad film\t0\n")
    (tmp_path / "run.py").write_text(INTERRUPTED)
    command = [sys.executable, str(tmp_path / "run.py"), str(tmp_path)]
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 40
    while len(list(tmp_path.glob("fit-*"))) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    start = time.monotonic()
    process.wait(60)
    assert len(list(tmp_path.glob("fit-*"))) == 2
    assert time.monotonic() - start < 3
