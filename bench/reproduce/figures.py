"""Figures (SVG, by gnuplot): the series of an experiment, and beside them what was claimed and ours."""
import shutil
import subprocess

WIDTH, HEIGHT, SPLIT = 880, 420, 0.58


def _plain(text):
    """What gnuplot takes for the end of a string, or for a command, is a quote."""
    return text.translate(str.maketrans('"`\\', "'''"))


def _block(name, lines):
    return [f"${name} << END_OF_DATA", *lines, "END_OF_DATA"]


def _curves(data):
    """Lines over numbers of bytes or ranks."""
    script, plots = [], []
    for i, (label, at) in enumerate(data.samples.items(), 1):
        script += _block(f"s{i}", [f"{p} {data.samples[label][p][0].median}" for p in data.places()
                                   if p in at and at[p][0].median > 0 and int(p) > 0])
        plots.append(f"$s{i} with linespoints lw 2 lc {i} ps 0.5 title \"{_plain(label)}\"")
    return script + ["set logscale x 2", "set logscale y", "set grid", "plot " + ", ".join(plots)]


def _bars(data, is_stacked):
    """Bars at each place: side by side; or stacked, of each series what it has more than the one before."""
    lines, labels = [], list(data.samples)
    for place in data.places():
        values = [data.samples[label][place][0].median if place in data.samples[label] else 0 for label in labels]
        if is_stacked:
            values = [max(0, v - (values[i - 1] if i else 0)) for i, v in enumerate(values)]
        lines.append(f"{place} " + " ".join(f"{v:.4f}" for v in values))
    plots = [f"$bars using {i + 2}:xtic(1) lc {i + 1} title \"{_plain(label)}\"" for i, label in enumerate(labels)]
    return _block("bars", lines) + [
        "set style data histograms", f"set style histogram {'rowstacked' if is_stacked else 'clustered gap 1'}",
        "set style fill solid 0.8 border -1", "set boxwidth 0.8", "set yrange [0:*]", "set grid ytics",
        "plot " + ", ".join(plots)]


def _beside(outcomes):
    """The ratios of the checks: ours with the interval, and the claimed one."""
    ours, claimed, names = [], [], []
    for i, o in enumerate(outcomes):
        y = len(outcomes) - i
        names.append(f"\"{_plain(o.row.a[0])} / {_plain(o.row.b[0])}\" {y}")
        ours.append(f"{o.estimate.value} {y} {o.estimate.low} {o.estimate.high}")
        if o.row.claim.kind not in ("less", "more"):
            claimed.append(f"{o.row.claim.value} {y}")
    plots = ["$ours with xerrorbars pt 7 lc 1 title \"ours\""]
    if claimed:
        plots.append("$claimed with points pt 4 ps 1.2 lc rgb \"#555555\" title \"claimed\"")
    return _block("ours", ours) + _block("claimed", claimed) + [
        "set logscale x", f"set yrange [0.3:{len(outcomes) + 0.7}]", f"set ytics ({', '.join(names)})",
        "set ytics noenhanced", "set arrow from 1, graph 0 to 1, graph 1 nohead dt 2 lc rgb \"#888888\"",
        "set offsets graph 0.1, graph 0.1, 0, 0", "set xlabel \"ratio\"", "set key below", "plot " + ", ".join(plots)]


def draw(one, data, outcomes, path):
    """Write the figure; what hinders it, or None."""
    if not data.samples or shutil.which("gnuplot") is None:
        return "gnuplot is not there" if data.samples else "nothing was measured"
    asked = [o for o in outcomes if o.row.kind == "check" and o.estimate is not None]
    is_numeric = all(p.isdigit() for p in data.places()) and len(data.places()) > 1
    is_stacked = one.words.get("plots") == "stacked"
    suffix = " (modelled)" if one.is_modelled() else ""
    script = [f"set terminal svg size {WIDTH},{HEIGHT} dynamic name \"{one.name}\" font \"sans-serif,13\" "
              "background \"white\"", f"set multiplot title \"{_plain(one.words['title'])}{suffix}\" noenhanced",
              "set origin 0, 0", f"set size {SPLIT if asked else 1}, 0.94", f"set ylabel \"{_plain(data.unit)}\"",
              "set key below noenhanced"]
    script += _curves(data) if is_numeric and not is_stacked else _bars(data, is_stacked)
    if asked:
        script += ["reset", f"set origin {SPLIT}, 0", f"set size {1 - SPLIT}, 0.94", *_beside(asked)]
    script.append("unset multiplot")
    done = subprocess.run(["gnuplot"], input="\n".join(script) + "\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    if "</svg>" not in done.stdout:
        return (done.stderr.strip().split("\n") or ["no figure"])[-1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(done.stdout)
    return None

