"""Runs the series of an experiment: jobs of datum-bench, of the build's bench/, and of exchange for counters.

Series of an experiment run by turns, a round each. What is modelled is the same in every run: it runs once, and
several jobs at a time.
"""
import concurrent.futures
import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from typing import NamedTuple

import stanzas

LIMIT = 300  # seconds for a job, unless told otherwise
COUNTER = re.compile(r"^datum: ( *)(.*?) +(\d+) +(\d+\.\d) +(\d+)(?: \S+)? *$")
KERNEL = re.compile(r": median ([0-9.]+) least ([0-9.]+)")


class NotRun(Exception):
    """A job failed; why."""


class Sample(NamedTuple):
    """Of one series at one place in one round: us or MB/s, and processor time of a message, us."""
    median: float
    best: float
    cpu: float = None


@dataclass
class Data:
    """What an experiment has measured."""
    samples: dict = field(default_factory=dict)  # {label: {place: [Sample]}}
    unit: str = "us"
    counts: dict = field(default_factory=dict)  # {(label, counter): of a message}
    notes: list = field(default_factory=list)
    others: float = 0.0  # processors that other work took

    def add(self, label, place, sample):
        """Keep the sample of another round."""
        self.samples.setdefault(label, {}).setdefault(str(place), []).append(sample)

    def places(self):
        """All places, in their order."""
        seen = {p: None for at in self.samples.values() for p in at}
        return sorted(seen, key=int) if all(p.isdigit() for p in seen) else list(seen)


_running = set()
_is_stopped = False


def stop():
    """End what runs; nothing else begins."""
    global _is_stopped
    _is_stopped = True
    for process in list(_running):
        process.terminate()


def run_until(argv, env, seconds):
    """(status, all it said) of a command that may take so long. Raises NotRun."""
    if _is_stopped:
        raise NotRun("stopped")
    with subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as process:
        _running.add(process)
        try:
            text, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.communicate()
            raise NotRun(f"it did not end in {seconds} s") from None
        finally:
            _running.discard(process)
        return process.returncode, text


def cause_of(said, status):
    """The line that says why a job failed: the library's, but for that the program has ended; or the program's last."""
    lines = [line for line in said.split("\n") if line.strip()]
    of_library = [line for line in lines if "datum" in line and "before MPI_Finalize" not in line]
    of_program = [line for line in lines if "datum:" not in line]
    return (of_library[:1] or of_program[-1:] or lines or [f"status {status}"])[0]


def counters_of(said):
    """{name: mean over the processes} of what DATUM_STATS prints; "parent: child", too."""
    counts, parent = {}, ""
    for line in said.split("\n"):
        match = COUNTER.match(line)
        if not match:
            continue
        name = match[2]
        if not match[1]:
            parent = name
        counts.setdefault(name, float(match[4]))
        counts.setdefault(f"{parent}: {name}", float(match[4]))
    return counts


class Others:
    """What other work takes of the processors between start and share."""

    def __init__(self):
        self.began = self._now()

    @staticmethod
    def _now():
        own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        try:
            with open("/proc/stat", encoding="ascii") as file:
                ticks = [int(t) for t in file.readline().split()[1:]]
        except (OSError, ValueError):
            ticks = [0] * 8
        busy = sum(ticks[i] for i in (0, 1, 2, 5, 6, 7) if i < len(ticks)) / os.sysconf("SC_CLK_TCK")
        return time.monotonic(), busy, sum(u.ru_utime + u.ru_stime for u in own)

    def share(self):
        """Processors, on average."""
        now = self._now()
        passed, busy, own = (b - a for a, b in zip(self.began, now))
        return max(0.0, (busy - own) / passed) if passed > 0 else 0.0


class Bench:
    """A build, and how it is run."""

    def __init__(self, build, rounds, is_quick, limit=LIMIT):
        self.build, self.rounds, self.is_quick, self.limit = build, rounds, is_quick, limit
        self.conf = os.path.join(build, "etc", "dat.conf")
        self.given = os.environ.get("DAT_OVERRIDE", "")
        self.tmp = tempfile.mkdtemp(prefix="reproduce.")
        self.leaves_out_timed = False  # what the machine's clock measures
        self.lock = threading.Lock()  # for what several jobs share
        self.n_cores = os.cpu_count() or 1
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("DATUM_") and k != "DAT_OVERRIDE"}
        self.env["DATUM_TUNE"] = "no"
        self.env["LC_ALL"] = "C"

    def close(self):
        """Remove what it has written."""
        shutil.rmtree(self.tmp, ignore_errors=True)

    def conf_with(self, provider):
        """The dat.conf that has this provider: the build's, or the one of DAT_OVERRIDE; None: neither."""
        for path in (self.conf, self.given):
            try:
                with open(path, encoding="utf-8") as file:
                    if any(line.split()[:1] == [provider] for line in file):
                        return path
            except OSError:
                continue
        return None

    def _model_conf(self, model):
        path = os.path.join(self.tmp, "conf." + re.sub(r"\W", "_", model))
        with self.lock:
            if not os.path.exists(path):
                with open(path, "w", encoding="utf-8") as file:
                    for safe in ("nonthreadsafe", "threadsafe"):
                        file.write(f'modelled u2.0 {safe} default "{self.build}/lib/libdatum_dapl_shm.so" '
                                   f'datum.1.0 "{model}" ""\n')
        return path

    def job(self, one, series, n, *command, **settings):
        """Run a command with the series' settings on n processes; what it said. Raises NotRun."""
        provider = one.words["provider"]
        model = one.models.get(series.model) if series and one.is_modelled() else None
        conf = self._model_conf(model) if model is not None else self.conf_with(provider)
        env = dict(self.env, DATUM_PROVIDER=provider, DAT_OVERRIDE=conf)
        for word in series.settings if series else []:
            name, value = word.split("=", 1)
            env["DATUM_" + name] = value
        env.update(settings)
        argv = [os.path.join(self.build, "bin", "mpiexec"), "-n", str(n), *command]
        status, text = run_until(argv, env, self.limit)
        if status != 0:
            raise NotRun(cause_of(text, status)[:300])
        return text

    def bench(self, one, series, n):
        """[(place, Sample)] and the unit of datum-bench's test."""
        test, sizes, *factor = one.words["test"].split()
        handle, path = tempfile.mkstemp(dir=self.tmp)
        os.close(handle)
        seconds = "0.002" if one.is_modelled() else "0.02" if self.is_quick else "0.1"
        self.job(one, series, n, os.path.join(self.build, "bin", "datum-bench"), "--time", seconds,
                 "--flight", "16", "--factor", *(factor or ["4" if self.is_quick else "2"]), "--test", series.test or test,
                 "--size", sizes, "--json", path)
        with open(path, encoding="utf-8") as file:
            results = json.load(file)["results"]
        os.unlink(path)
        by_ranks = len(one.words.get("ranks", "2").split()) > 1
        return [(n if by_ranks else r["size"],
                 Sample(r["median"], r["min"] if r["unit"] == "us" else r["max"], r["cpu"])) for r in results
                ], results[0]["unit"] if results else "us"

    def kernel(self, one, series, n, name):
        """[(name, Sample)] of an application kernel, us."""
        said = self.job(one, series, n, os.path.join(self.build, "bench", name), "-c", one.words["kernels"].split()[-1],
                        "-r", "1")
        match = KERNEL.search(said)
        if not match:
            raise NotRun(f"{name} says no time")
        return [(name, Sample(float(match[1]) * 1e6, float(match[2]) * 1e6))], "us"

    def program(self, one, data):
        """One round of a program of the build's bench/, which has several series."""
        name, sizes = one.words["program"].split()
        least, most = stanzas.range_of(sizes)
        said = self.job(one, None, 2, os.path.join(self.build, "bench", name), "-q", f"{least}:{most}")
        for line in said.split("\n"):
            words = line.split()
            if len(words) in (6, 7) and words[1].isdigit():
                data.add(words[0], words[1], Sample(float(words[3]), float(words[2])))
                data.unit = words[6] if len(words) == 7 else "us"

    def counters(self, one, series, n, size):
        """Of n messages each way."""
        ranks = one.words.get("ranks", "2").split()
        n_ranks = series.ranks or (ranks[0] if len(ranks) == 1 else 2)
        said = self.job(one, series, n_ranks, os.path.join(self.build, "bench", "exchange"), str(n), str(size),
                        *([series.part] if series.part else []), DATUM_STATS="1")
        return counters_of(said)

    def count(self, one, series, n, size, wanted):
        """{counter: for a message}: those of n messages, less those of none; of none, as they are."""
        if n == 0:
            return {w: self.counters(one, series, 0, size).get(w, 0.0) for w in wanted}
        with_none, with_all = (self.counters(one, series, k, size) for k in (0, n))
        return {w: (with_all.get(w, 0.0) - with_none.get(w, 0.0)) / n for w in wanted}

    # ---- a whole experiment ----

    def _tasks(self, one):
        """(label, what to call) of one round, in the order in which they run by turns."""
        if "kernels" in one.words:
            return [(s.label, self.kernel, (one, s, int(one.words.get("ranks", "4")), name))
                    for name in one.words["kernels"].split()[:-1] for s in one.series]
        return [(s.label, self.bench, (one, s, int(n)))
                for n in one.words.get("ranks", "2").split() for s in one.series]

    @staticmethod
    def _try(call, arguments):
        try:
            return call(*arguments), None
        except NotRun as why:
            return None, str(why)

    def _round(self, one, data, gone):
        if "program" in one.words:
            try:
                self.program(one, data)
            except NotRun as why:
                data.notes.append(f"{one.words['program'].split()[0]}: not run: {why}")
            return
        tasks = [t for t in self._tasks(one) if t[0] not in gone] if one.has_runs() else []
        with concurrent.futures.ThreadPoolExecutor(self.n_cores if one.is_modelled() else 1) as pool:
            results = list(pool.map(lambda t: self._try(t[1], t[2]), tasks))
        for (label, _, _), (result, why) in zip(tasks, results):
            if why is not None and label not in gone:
                gone.add(label)
                data.notes.append(f"{label}: not run: {why}")
            for place, sample in result[0] if result else []:
                data.add(label, place, sample)
                data.unit = result[1]

    def _count_all(self, one, data, gone):
        tasks = [(s, n, size, wanted) for n, size, wanted in one.counts for s in one.series if s.label not in gone]
        with concurrent.futures.ThreadPoolExecutor(self.n_cores if one.is_modelled() else 1) as pool:
            results = list(pool.map(lambda t: self._try(self.count, (one, *t)), tasks))
        for (series, _, size, _), (counts, why) in zip(tasks, results):
            if why is not None:
                data.notes.append(f"{series.label}: not counted: {why}")
            for counter, value in (counts or {}).items():
                data.counts[series.label, one.counter_name(counter, size)] = value

    def perform(self, one):
        """Measure and count all that an experiment wants; its Data."""
        data, gone = Data(), set()
        provider = one.words["provider"]
        if not one.is_modelled() and self.conf_with(provider) is None:
            data.notes.append(f"no {provider} in the dat.conf")
            return data
        others = Others()
        for _ in range(1 if one.is_modelled() else 0 if self.leaves_out_timed else self.rounds):
            self._round(one, data, gone)
        data.others = others.share()
        self._count_all(one, data, gone)
        for label, (us, rate) in one.figures.items():
            for place in data.places():
                value = us + int(place) / rate if us is not None else rate
                data.add(label, place, Sample(value, value))
        return data
