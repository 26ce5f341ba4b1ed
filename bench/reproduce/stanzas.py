"""Reads the papers' files (papers/*), and says what is wrong with them before anything runs.

    paper KEY                  begins a paper
    cite TEXT                  authors, title, venue, year
    experiment NAME            begins one; the lines below belong to it
    title TEXT
    where TEXT                 sections and figures of the paper
    claim TEXT                 what was claimed there
    provider NAME              of the dat.conf; or "modelled", datum-shm with the ia_params of
    model [NAME] KEY=VALUE...  (docs/PROVIDER.md): a preset; what is beside it is no figure of its paper. With a
                               NAME it is the model of series that say MODEL=NAME
    test NAME MIN:MAX [FACTOR] of datum-bench, and its sizes, each so many times the one before (2; quick: 4)
    program NAME MIN:MAX       instead: of the build's bench/, whose lines are series: "LABEL SIZE LEAST MEDIAN P10 P90"
    kernels NAME... CLASS      instead: application kernels of bench/apps, by ranks
    ranks N...                 of processes: with several, these are the places, not the sizes
    series LABEL [SETTING=VALUE]...   DATUM_ settings without the prefix; TEST= another test, MODEL= another model,
                               PART=first or second: what is counted uses half of its memory every other time;
                               RANKS= of the job that is counted
    figure LABEL US+RATE       a series that is known: us, and a byte at so many MB/s; or MB/s alone. It is the network's
                               own, which tests/dat/modelled.c finds exactly
    count N SIZE ROW, ROW      counters of DATUM_STATS for a message, of N messages of that size each way; N 0: those of
                               a start with so many ranks. With a second size: "ROW at SIZE", bytes
    table cpu                  processor time, too
    plots stacked              bars of what each series has more than the one before
    follows TEXT               of what is modelled: which figures, and which part of the design, decide

What is asked, a row each:

    check A B PLACES CLAIM TEXT     A's figure over B's, mean of the places MIN:MAX (or -: all); A@PLACE B@PLACE: of one
                                    each, PLACES is -. CLAIM: 2.5, ~0.98, <1, >1, <=1.3, >=0.6
    extra A B PLACES CLAIM TEXT     A's figure less B's, us
    tally LABEL | ROW | CLAIM | TEXT   a counter for each message
    unasked CLAIMED | TEXT | WHY    not asked, and why
    needs LABEL | ROW | LEAST       of the row before: else the series is not what it is called
    because TEXT                    of the row before: what was tried or found where it does not hold
"""
import os
import re
from dataclasses import dataclass, field

import verdict

ONE = ("title", "where", "claim", "provider", "test", "program", "kernels", "ranks", "table", "plots")
MANY = ("model", "series", "figure", "count", "follows")
ROWS = ("check", "extra", "tally", "unasked")


class Wrong(Exception):
    """A line that makes no sense: file, line and why."""


@dataclass
class Row:
    """One thing that is asked."""
    kind: str
    text: str
    claim: verdict.Claim = None
    a: tuple = ("", "")  # label, place or ""
    b: tuple = ("", "")
    places: str = "-"
    counter: str = ""
    said: str = ""  # unasked: what was claimed
    because: str = ""
    needs: list = field(default_factory=list)  # (label, counter, least)


@dataclass
class Series:
    """Settings to run with, words NAME=VALUE."""
    label: str
    settings: list
    test: str = ""
    model: str = ""
    part: str = ""
    ranks: str = ""


@dataclass
class Experiment:
    """One stanza."""
    name: str
    paper: str
    words: dict = field(default_factory=dict)  # of ONE
    models: dict = field(default_factory=dict)
    series: list = field(default_factory=list)
    figures: dict = field(default_factory=dict)  # label: (us or None, MB/s or None)
    counts: list = field(default_factory=list)  # (n, size, [counter])
    follows: list = field(default_factory=list)
    rows: list = field(default_factory=list)

    def is_modelled(self):
        """Is it in virtual time?"""
        return self.words.get("provider") == "modelled"

    def counter_name(self, counter, size):
        """How a counter is called in rows: with several sizes, those after the first have theirs behind it."""
        return counter if size == self.counts[0][1] else f"{counter} at {size}"

    def has_runs(self):
        """Is there anything to measure?"""
        return any(k in self.words for k in ("test", "program", "kernels"))


def size_of(text):
    """Bytes of 64, 8k or 1m; ValueError."""
    match = re.fullmatch(r"([0-9]+)([km]?)", text)
    if not match:
        raise ValueError(f"what size is \"{text}\"?")
    return int(match[1]) << {"": 0, "k": 10, "m": 20}[match[2]]


def range_of(text):
    """(least, most) of MIN:MAX or one size; ValueError."""
    least, _, most = text.partition(":")
    pair = size_of(least), size_of(most or least)
    if pair[0] > pair[1]:
        raise ValueError(f"what range is \"{text}\"?")
    return pair


def _place(text):
    label, at, place = text.partition("@")
    return label, (str(size_of(place)) if re.fullmatch(r"[0-9]+[km]?", place) else place) if at else ""


def _read_figure(text):
    us, plus, rate = text.partition("+")
    return (float(us), float(rate)) if plus else (None, float(us))


def _fields(rest, n):
    parts = [p.strip() for p in rest.split("|")]
    if len(parts) != n or not all(parts):
        raise ValueError(f"wants {n} parts with | between them")
    return parts


def _read_row(word, rest):
    if word == "unasked":
        said, text, why = _fields(rest, 3)
        return Row(word, text, said=said, because=why)
    if word == "tally":
        label, counter, claim, text = _fields(rest, 4)
        row = Row(word, text, verdict.parse_claim(claim), a=(label, ""), counter=counter)
        if row.claim.kind in ("less", "more"):
            raise ValueError("a tally wants a number")
        return row
    parts = rest.split(None, 4)
    if len(parts) != 5:
        raise ValueError("wants A B PLACES CLAIM TEXT")
    row = Row(word, parts[4], verdict.parse_claim(parts[3]), _place(parts[0]), _place(parts[1]), parts[2])
    if bool(row.a[1]) != bool(row.b[1]) or (row.a[1] and row.places != "-"):
        raise ValueError("either both have a place, and PLACES is -, or none")
    if row.places != "-":
        range_of(row.places)
    if not verdict.is_effect(row.claim):
        raise ValueError(f"{parts[3]} is too near to 1 for an effect: write ~{parts[3]}")
    if word == "extra" and row.claim.kind != "most":
        raise ValueError("a difference wants a bound, <=0.5")
    return row


def _read_more(one, word, rest):
    """A line of MANY."""
    words = rest.split()
    if word == "model":
        name = words.pop(0) if "=" not in words[0] else ""
        one.models[name] = " ".join(words)
    elif word == "series":
        named = dict(w.split("=", 1) for w in words[1:])
        own = [named.pop(key, "") for key in ("TEST", "MODEL", "PART", "RANKS")]
        one.series.append(Series(words[0], [f"{k}={v}" for k, v in named.items()], *own))
    elif word == "figure":
        one.figures[words[0]] = _read_figure(words[1])
    elif word == "count":
        n, size, counters = rest.split(None, 2)
        one.counts.append((int(n), size_of(size), [c.strip() for c in counters.split(",")]))
        if len({c[1] for c in one.counts}) < len(one.counts):
            raise ValueError(f"{size} is counted twice")
    else:
        one.follows.append(rest)


def _read_line(one, word, rest):
    """A line of an experiment; ValueError, IndexError."""
    if word in ROWS:
        one.rows.append(_read_row(word, rest))
    elif word == "needs":
        label, counter, least = _fields(rest, 3)
        one.rows[-1].needs.append((label, counter, float(least)))
    elif word == "because":
        one.rows[-1].because = rest
    elif word in MANY:
        _read_more(one, word, rest)
    elif word in ONE:
        if word in one.words:
            raise ValueError(f"a second line {word}")
        if word in ("test", "program"):
            range_of(rest.split()[1])
        one.words[word] = rest
    else:
        raise ValueError(f"what is \"{word}\"?")


def _labels_counted(one):
    return {(s.label, one.counter_name(c, size)) for s in one.series for _, size, counters in one.counts
            for c in counters}


def _what_lacks(one):
    """What a whole stanza lacks; None: nothing."""
    for word in ("title", "where", "claim"):
        if word not in one.words:
            return f"it lacks its {word}"
    if not one.rows:
        return "it asks nothing: a line check, extra, tally, or unasked"
    asks = [r for r in one.rows if r.kind != "unasked"]
    if asks and "provider" not in one.words:
        return "it lacks its provider"
    if [r for r in asks if r.kind != "tally"] and not one.has_runs():
        return "it lacks a test, a program or kernels"
    if one.is_modelled() and "program" in one.words:
        return "a program takes the machine's time, and the model has its own"
    for s in one.series:
        if one.is_modelled() and s.model not in one.models:
            return f"there is no model \"{s.model}\" for {s.label}"
    known = {s.label for s in one.series} | set(one.figures)
    for row in asks:
        for label, _ in (row.a, row.b) if row.kind in ("check", "extra") else (row.a,):
            if label not in known and "program" not in one.words:
                return f"there is no series \"{label}\""
        wanted = [(label, c) for label, c, _ in row.needs] + ([(row.a[0], row.counter)] if row.kind == "tally" else [])
        for pair in wanted:
            if pair not in _labels_counted(one):
                return f"\"{pair[1]}\" of {pair[0]} is not counted"
    return None


def read_file(path, papers, experiments):
    """Add the papers ({key: citation}) and experiments of a file; raises Wrong, OSError."""
    paper = one = None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            word, _, rest = line.partition(" ")
            rest = rest.strip()
            if not line or line[0] == "#":
                continue
            try:
                if word == "paper":
                    paper, one = rest, None
                    papers[paper] = ""
                elif word == "cite" and paper:
                    papers[paper] = rest
                elif word == "experiment" and paper:
                    one = Experiment(rest, paper)
                    experiments.append(one)
                elif one is None:
                    raise ValueError(f"\"{word}\" before any experiment of a paper")
                else:
                    _read_line(one, word, rest)
            except (ValueError, IndexError) as why:
                raise Wrong(f"{path}:{number}: {why or 'too few words'}") from None


def read(path):
    """({paper: citation}, [Experiment]) of a file, or of all in a directory; raises Wrong, OSError."""
    papers, experiments = {}, []
    paths = [path]
    if os.path.isdir(path):
        paths = [os.path.join(path, name) for name in sorted(os.listdir(path))]
    for each in paths:
        read_file(each, papers, experiments)
    if not experiments:
        raise Wrong(f"there is no experiment in {path}")
    for one in experiments:
        lack = _what_lacks(one)
        if lack:
            raise Wrong(f"{path}: experiment {one.name}: {lack}")
    names = [one.name for one in experiments]
    for name in names:
        if names.count(name) > 1:
            raise Wrong(f"{path}: two experiments \"{name}\"")
    return papers, experiments
