"""What is written: report.md, results.csv and verdicts.csv of the directory, and the table for bench/results."""
import csv
import os
import subprocess
from collections import Counter

import verdict
from outcomes import number

HERE = os.path.dirname(os.path.abspath(__file__))
HEAD = ["| experiment | where | asked | claimed | ours | how | verdict |", "|---|---|---|---|---|---|---|"]
NOTE = ("Modelled times are virtual: the same in every run; [from, to] are the places. Measured ones: the median of the "
        "rounds, in which series take turns, and its interval by order statistics (95 % from 6 rounds on). A verdict "
        "compares the logarithms of the ratios: an effect holds from half of the claimed one to twice; alike is "
        "within 10 %.")


def cell(text):
    """For a table."""
    return text.replace("|", "/")


def words_of(outcome):
    """The verdict, its word marked."""
    text = outcome.verdict()
    return text if outcome.word == verdict.NONE else text.replace(outcome.word, f"**{outcome.word}**", 1)


def is_withheld(outcome):
    """A time that a loaded machine has measured is no figure to keep."""
    return outcome.is_timed and outcome.word == verdict.NONE and outcome.note.startswith("load")


def row_of(outcome, is_kept):
    """A line of a table; is_kept: for bench/results."""
    ours = "" if is_kept and is_withheld(outcome) else outcome.ours()
    cells = [f"`{outcome.one.name}`", outcome.one.words["where"], asked(outcome.row), outcome.claimed, ours,
             outcome.method, words_of(outcome)]
    return "| " + " | ".join(cell(c) for c in cells) + " |"


def asked(row):
    """What is compared with what, and why."""
    if row.kind == "unasked":
        return row.text
    if row.kind == "tally":
        return f"{row.text}: {row.a[0]}, {row.counter}"
    a, b = (label + (f" at {place}" if place else "") for label, place in (row.a, row.b))
    sign = "/" if row.kind == "check" else "-"
    return f"{row.text}: {a} {sign} {b}" + (f", {row.places}" if row.places != "-" else "")


def tables(papers, outcomes, is_kept=False):
    """A table for each paper."""
    lines = []
    for key, citation in papers.items():
        rows = [row_of(o, is_kept) for o in outcomes if o.one.paper == key]
        if rows:
            lines += [f"## {citation}" if citation else f"## {key}", "", *HEAD, *rows, ""]
    return lines


def summary(outcomes):
    """How many of each verdict."""
    n = Counter(o.word for o in outcomes)
    return ", ".join(f"{n[w]} {w}" for w in (verdict.HOLDS, verdict.PARTLY, verdict.NOT, verdict.NONE) if n[w])


def _measured(data, column):
    """The series' figures, places downwards."""
    labels = list(data.samples)
    lines = ["| | " + " | ".join(cell(label) for label in labels) + " |", "|---" * (len(labels) + 1) + "|"]
    for place in data.places():
        values = []
        for label in labels:
            samples = sorted(getattr(s, column) or 0 for s in data.samples[label].get(place, []))
            values.append(number(samples[len(samples) // 2]) if samples else "")
        lines.append(f"| {place} | " + " | ".join(values) + " |")
    return lines


def _how(one):
    """Lines about what runs."""
    runs = next((f"{w} `{one.words[w]}`" for w in ("test", "program", "kernels") if w in one.words), "counters alone")
    lines = [f"Here: {runs} over {one.words['provider']}" + (f", ranks {one.words['ranks']}" if "ranks" in one.words
                                                             else "") + "."]
    lines += [f"- model{' ' + name if name else ''}: `{model}`" for name, model in one.models.items()]
    for s in one.series:
        settings = " ".join(["DATUM_" + w for w in s.settings] + ([f"test {s.test}"] if s.test else []) +
                            ([f"model {s.model}"] if s.model else []) +
                            ([f"every other message the {s.part} half"] if s.part else []))
        lines.append(f"- `{s.label}`: {settings or 'the defaults'}")
    for label, (us, rate) in one.figures.items():
        of = f"{us:g} us and {rate:g} MB/s" if us is not None else f"{rate:g} MB/s"
        lines.append(f"- `{label}`: {of}, of the network itself")
    return lines


def section(one, data, outcomes, has_figure, seconds):
    """All about one experiment, which took so long."""
    title = one.words["title"] + (" (modelled)" if one.is_modelled() else "")
    lines = [f"## {one.name}: {title}", "", f"Claim ({one.paper}, {one.words['where']}): {one.words['claim']}.", ""]
    if data is not None:
        lines += _how(one) + ["", f"It took {seconds:.0f} s.", ""]
        if has_figure:
            lines += [f"![{one.name}: ours, and as claimed]({one.name}.svg)", ""]
        if data.samples:
            lines += [f"{data.unit}, medians:", "", *_measured(data, "median"), ""]
        if data.samples and one.words.get("table") == "cpu":
            lines += ["us of processor time for a message, all processes together:", "", *_measured(data, "cpu"), ""]
        if data.counts:
            lines += ["Counters, mean of the ranks, " + ("of a start:" if one.counts[0][0] == 0 else "for a message:"), ""]
            lines += [f"- {label}: {value:.2f} {counter}" for (label, counter), value in data.counts.items()] + [""]
        lines += [f"- {note}" for note in data.notes]
    for o in outcomes:
        figure = f" = {o.ours()}" if o.estimate is not None else ""
        lines.append(f"- {words_of(o)} ({asked(o.row)}{figure}; claimed: {o.claimed})")
    return lines + [f"- it follows from {text}" for text in one.follows] + [""]


def write_csv(directory, everything):
    """results.csv and verdicts.csv; everything: [(Experiment, Data or None, [Outcome])]."""
    with open(os.path.join(directory, "results.csv"), "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["experiment", "series", "place", "round", "median", "best", "cpu", "unit"])
        for one, data, _ in everything:
            for label, at in data.samples.items() if data else ():
                for place, samples in at.items():
                    for i, s in enumerate(samples, 1):
                        out.writerow([one.name, label, place, i, f"{s.median:g}", f"{s.best:g}",
                                      "" if s.cpu is None else f"{s.cpu:g}", data.unit])
    with open(os.path.join(directory, "verdicts.csv"), "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["paper", "experiment", "where", "asked", "claimed", "ours", "low", "high", "how", "verdict", "why"])
        for one, _, outcomes in everything:
            for o in outcomes:
                figures = [f"{v:.5g}" for v in o.estimate[:3]] if o.estimate is not None else ["", "", ""]
                out.writerow([one.paper, one.name, one.words["where"], asked(o.row), o.claimed, *figures, o.method,
                              o.word, o.verdict().partition(": ")[2]])


def header(title, command, build):
    """Where and when, as the other files of bench/results have it."""
    script = f'here={HERE!r} build={build!r}; . "$here/../lib.sh"; bench_header "$1" "$2"'
    return subprocess.run(["sh", "-c", script, "sh", title, command], stdout=subprocess.PIPE, text=True,
                          check=False).stdout.rstrip("\n").split("\n")
