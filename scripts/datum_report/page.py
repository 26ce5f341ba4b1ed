"""The page of datum-compare: one HTML file that loads nothing."""
import html

from datum_report import stats, svg, verdict

HEAD = '''<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>datum-compare</title><style>
body { font-family: sans-serif; margin: 1em auto; max-width: 66em; padding: 0 .8em; color: #222; line-height: 1.4 }
h2 { border-top: 2px solid #888; padding-top: .6em; margin-top: 2em }
h3 { margin-bottom: .3em }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 27em), 1fr)); gap: 1em }
figure { margin: 0; break-inside: avoid }
figcaption { font-weight: bold }
svg { width: 100%; height: auto; max-width: 40em; display: block; font: 14px sans-serif; background: white }
.tick { font-size: 12px }
.grid { stroke: #ccc; stroke-width: 1 }
.scroll { overflow-x: auto }
table { border-collapse: collapse; margin: .5em 0 1em; font-size: 90% }
td, th { border: 1px solid #ccc; padding: .15em .5em; text-align: right; vertical-align: top }
.words td, .words th { text-align: left }
.words td, pre, li { overflow-wrap: anywhere }
pre { white-space: pre-wrap }
thead th { background: #f0f0f0 }
small { display: block; color: #666; white-space: nowrap }
.best { background: #d3f0d3; font-weight: bold }
.best small { font-weight: normal }
.warning { background: #fff0d0; border-left: 4px solid #d80; padding: .4em .8em }
@media print {
  body { max-width: none; font-size: 9pt }
  .scroll { overflow: visible }
  .plots { grid-template-columns: 1fr 1fr }
  tr, .warning { break-inside: avoid }
  h2, h3 { break-after: avoid }
}
</style></head><body>
'''
GROUPS = (('pt2pt', 'Point-to-point'), ('onesided', 'One-sided'), ('coll', 'Collectives'), ('overlap', 'Overlap'),
          ('start', 'Start-up'), ('memory', 'Memory'))
RAW = (('raw_write', 'write to and fro, half', 'bytes'), ('raw_send', 'send to and fro, half', 'bytes'),
       ('raw_write_bw', 'writes', 'bytes'), ('raw_read_bw', 'reads', 'bytes'),
       ('raw_registration', 'register and free', 'bytes'), ('raw_wakeup', 'waking a blocked thread', 'us that it was idle'))
# What is compared with the bare provider: title, test of datum-bench, raw test.
TAX = (('MPI message over a DAT write', 'latency', 'raw_write'), ('put and flush over a DAT write', 'put', 'raw_write'),
       ('MPI messages over DAT writes', 'bw', 'raw_write_bw'), ('puts over DAT writes', 'put_bw', 'raw_write_bw'),
       ('gets over DAT reads', 'get_bw', 'raw_read_bw'))


def number(value, digits=4):
    """Three or four digits, without exponents."""
    return f'{value:.0f}' if value >= 1000 else f'{value:.{digits}g}'


def rows(head, body, kind=''):
    """A table of cells that are HTML already."""
    top = ''.join(f'<th>{cell}</th>' for cell in head)
    lines = ''.join('<tr>' + ''.join(line) + '</tr>\n' for line in body)
    return (f'<div class="scroll"><table class="{kind}">' + (f'<thead><tr>{top}</tr></thead>' if head else '') +
            f'<tbody>\n{lines}</tbody></table></div>\n')


def pairs(values):
    """A table of names and values."""
    return rows((), [(f'<th>{html.escape(str(name))}</th>', f'<td>{html.escape(str(value))}</td>')
                     for name, value in values], 'words')


def cell_of(cell, is_first):
    """A median with its interval, marked where it is the best."""
    low, high = stats.interval(cell.values)
    spread = f'<small>{number(low, 3)} to {number(high, 3)}</small>' if len(cell.values) > 1 else ''
    mark = ' class="best"' if is_first else ''
    return f'<td{mark}>{"&#9733; " if is_first else ""}{number(stats.median(cell.values))}{spread}</td>'


def table_of(table, test, first_column='bytes'):
    """Of a test: a row for each size, a column for each source."""
    sizes = sorted({key[1] for cells in table.values() for key in cells if key[0] == test})
    names = [name for name in table if any(key[0] == test for key in table[name])]
    body = []
    for size in sizes:
        best = verdict.first_of(table, (test, size))
        line = [f'<th>{size if size else ""}</th>']
        line += [cell_of(table[name][test, size], name == best) if (test, size) in table[name] else '<td></td>'
                 for name in names]
        body.append(line)
    return rows([first_column] + [html.escape(name) for name in names], body)


def figure_of(table, test, title, unit, x_label='bytes'):
    """The curves of a test."""
    series = []
    for index, (name, cells) in enumerate(table.items()):
        points = [(key[1], stats.median(cell.values), *stats.interval(cell.values)) for key, cell in cells.items()
                  if key[0] == test]
        series.append((name, index, points))
    return svg.chart(title, x_label, unit, series)


def tests_of(table, group):
    """The tests of a group with their units, in the order in which they were measured."""
    found = {}
    for cells in table.values():
        for cell in cells.values():
            if cell.group == group:
                found.setdefault(cell.test, cell.unit)
    return found


def group_part(table, group, title, titles):
    """A chapter: curves, then tables."""
    tests = tests_of(table, group)
    if not tests:
        return ''
    parts = [f'<h2>{title}</h2>\n<div class="plots">']
    parts += [figure_of(table, test, test, unit) for test, unit in tests.items()]
    parts.append('</div>\n')
    for test, unit in tests.items():
        parts.append(f'<h3>{html.escape(test)}, {unit}</h3>')
        if titles.get(test):
            parts.append(f'<p>{html.escape(titles[test])}</p>')
        parts.append(table_of(table, test))
    return ''.join(parts)


def processor_part(table):
    """Processor time of messages: a table of its own, in the form of results."""
    times = {name: {key: cell._replace(unit='us', values=[cell.cpu]) for key, cell in cells.items()
                    if key[0] in ('latency', 'bw') and cell.cpu}
             for name, cells in table.items()}
    if not any(times.values()):
        return ''
    parts = ['<h2>Processor time of a message</h2><p>Of all ranks together, waiting included.</p><div class="plots">']
    parts += [figure_of(times, test, f'processor time, {test}', 'us') for test in ('latency', 'bw')]
    parts.append('</div>')
    for test in ('latency', 'bw'):
        if any(key[0] == test for cells in times.values() for key in cells):
            parts.append(f'<h3>{test}, processor time, us</h3>' + table_of(times, test))
    return ''.join(parts)


def raw_part(raw):
    """The providers without MPI."""
    if not raw:
        return ''
    parts = ['<h2>The providers without MPI</h2><p>By datum-check: the best of several.</p><div class="plots">']
    units = {cell.test: cell.unit for cells in raw.values() for cell in cells.values()}
    there = [row for row in RAW if row[0] in units]
    parts += [figure_of(raw, test, title, units[test], x_label) for test, title, x_label in there]
    parts.append('</div>')
    for test, title, x_label in there:
        parts.append(f'<h3>{title}, {units[test]}</h3>' + table_of(raw, test, x_label))
    return ''.join(parts)


def tax_rows(cells, bare):
    """What MPI adds to a provider: the best samples of both."""
    body = []
    for title, test, raw_test in TAX:
        for (name, size), cell in cells.items():
            if name != test or (raw_test, size) not in bare:
                continue
            raw = bare[raw_test, size].best
            body.append([f'<td>{title}, {cell.unit}</td>', f'<td>{size}</td>', f'<td>{number(raw)}</td>',
                         f'<td>{number(cell.best)}</td>', f'<td>{100 * (cell.best / raw - 1):+.0f} %</td>'])
    return body


def tax_part(table, raw, source_of):
    """The same for each provider; source_of: provider -> the name of its source."""
    parts = []
    for provider, bare in raw.items():
        body = tax_rows(table.get(source_of[provider], {}), bare)
        if body:
            parts.append(f'<h3>{html.escape(provider)}</h3>' + rows(('', 'bytes', 'DAT', 'MPI', 'more'), body))
    return '<h2>What MPI adds</h2><p>The best samples of both.</p>' + ''.join(parts) if parts else ''


def top_part(report):
    """Machine and settings, and the verdict."""
    machine = report['machine']
    named = [(name, f'{machine[name]}') for name in ('host', 'processor', 'cores', 'memory', 'system')]
    named += [('load when begun', machine['load']), ('measured', report['time']),
              ('ranks, rounds', f'{report["ranks"]}, {report["rounds"]}'), ('datum-bench', report['options'])]
    named += [(source['name'], source['library']) for source in report['sources']]
    named += list(report['settings'].items()) or [('settings', 'none')]
    parts = ['<h1>datum-compare</h1><h2>Machine and settings</h2>', pairs(named)]
    if machine['load'] > machine['cores'] / 4:
        parts.append(f'<p class="warning">The machine was busy when this began (load {machine["load"]} on '
                     f'{machine["cores"]} cores): do not believe small differences.</p>')
    parts.append('<h2>Verdict</h2>')
    if report['verdicts']:
        parts.append(pairs([(entry['title'], entry['words']) for entry in report['verdicts']]))
    else:
        parts.append('<p>One source only: there is nothing to compare it with.</p>')
    percent = 100 * stats.MARGIN
    parts.append(f'<p>Everything was measured by turns, in {report["rounds"]} rounds. Figures are medians of the rounds; '
                 'the smaller ones below them, and the bands of curves, are the interval of the median. Of us, ms and MiB '
                 'less is better, of MB/s, 1/s and % more. Who is first, marked '
                 f'<span class="best">&#9733;</span>, is ahead of every other by {percent:.0f} % or more in the '
                 'whole interval of the ratio, and in odd and in even rounds.</p>')
    return ''.join(parts)


def page(report, table, raw, titles, providers):
    """The whole of it. report: what results.json has; raw: provider -> figures without MPI; titles: what the tests
    measure; providers: what datum-info says."""
    source_of = {source['provider']: source['name'] for source in report['sources'] if source['provider']}
    parts = [HEAD, top_part(report)]
    parts += [group_part(table, group, title, titles) for group, title in GROUPS]
    parts += [processor_part(table), raw_part(raw), tax_part(table, raw, source_of)]
    parts.append(f'<h2>Providers</h2><pre>{html.escape(providers)}</pre>\n</body></html>\n')
    return ''.join(parts)
