"""What datum-compare makes of its rounds: figures, results.json, results.csv, and two reports beside each other."""
import json
import os
import re
import sys

from datum_report import stats, verdict

CSV_HEAD = ('source', 'test', 'group', 'unit', 'size', 'median', 'low', 'high', 'best', 'rounds', 'cpu')
MUCH = 1.1  # --diff names what has changed by this,
MUCH_RAW = 1.5  # and figures of a single round by this


class NoReport(Exception):
    """A directory is none of datum-compare."""


# ---- figures ----


def round_of(said, starts):
    """One round of a source, (test, size) -> result: of datum-bench's JSON, and of the milliseconds of jobs."""
    results = {}
    for result in said['results']:
        best = result['min'] if stats.is_less_better(result['unit']) else result['max']
        results[result['test'], result['size']] = dict(result, best=best)
    for test, group, unit, value in (('start', 'start', 'ms', stats.median(starts)),
                                     ('pss', 'memory', 'MiB', said['pss'] / 1048576)):
        if value > 0:
            results[test, 0] = {'test': test, 'group': group, 'unit': unit, 'size': 0, 'median': value, 'best': value,
                                'cpu': None}
    return results


def cells_of(rounds):
    """Figures of a source: those that every round has."""
    cells = {}
    for key, first in rounds[0].items():
        if not all(key in results for results in rounds):
            continue
        found = [results[key] for results in rounds]
        pick = min if stats.is_less_better(first['unit']) else max
        times = [result['cpu'] for result in found if result['cpu'] is not None]
        cells[key] = stats.Cell(first['test'], first['group'], first['unit'], first['size'],
                                [result['median'] for result in found], pick(result['best'] for result in found),
                                stats.median(times) if times else None)
    return cells


# Keys of datum-check, WORD_SIZE: test, unit, what its value is times; and those of another form: test, size.
RAW_WORDS = {'latency': ('raw_write', 'us', 1), 'write': ('raw_write_bw', 'MB/s', 1000), 'read': ('raw_read_bw', 'MB/s', 1000),
             'reg': ('raw_registration', 'us', 1), 'wakeup': ('raw_wakeup', 'us', 1)}
RAW_NAMES = {'send_latency': ('raw_send', 8), 'wakeup': ('raw_wakeup', 1000), 'wakeup_10ms': ('raw_wakeup', 10000)}
RAW_FACTORS = {'k': 1024, 'm': 1 << 20}


def raw_key(key):
    """Test, size, unit, factor of a key of datum-check; None of one that is no figure."""
    if key in RAW_NAMES:
        return (*RAW_NAMES[key], 'us', 1)
    parts = re.fullmatch('([a-z]+)_([0-9]+)(k|m|us)?', key)
    if parts is None or parts[1] not in RAW_WORDS:
        return None
    test, unit, factor = RAW_WORDS[parts[1]]
    return test, int(parts[2]) * RAW_FACTORS.get(parts[3], 1), unit, factor


def raw_cells(said):
    """Figures of a provider without MPI, of datum-check's JSON. A wake-up's "size" is how long the thread was idle, us."""
    cells = {}
    for probe in said.get('probes', {}).values():
        for key, item in probe['items'].items():
            row = raw_key(key) if item['result'] == 'value' else None
            if row is not None:
                test, size, unit, factor = row
                value = item['value'] * factor
                cells[test, size] = stats.Cell(test, 'raw', unit, size, [value], value, None)
    return dict(sorted(cells.items()))


# ---- files ----


def as_json(name, cell):
    """A figure for results.json."""
    low, high = stats.interval(cell.values)
    return {'source': name, 'test': cell.test, 'group': cell.group, 'unit': cell.unit, 'size': cell.size,
            'median': stats.median(cell.values), 'low': low, 'high': high, 'best': cell.best, 'cpu': cell.cpu,
            'values': cell.values}


def csv_row(name, cell):
    """A figure for results.csv."""
    low, high = stats.interval(cell.values)
    return [name, cell.test, cell.group, cell.unit, cell.size] + [
        f'{value:.6g}' for value in (stats.median(cell.values), low, high, cell.best)] + [
            len(cell.values), '' if cell.cpu is None else f'{cell.cpu:.6g}']


def verdict_json(title, found, text):
    """A verdict for results.json."""
    return {'family': found['family'], 'title': title, 'first': found['first'], 'tied': found['tied'], 'words': text,
            'figures': found['cells'], 'best': {name: len(keys) for name, keys in found['best'].items()},
            'behind': [{'source': name, 'ratio': ratio.median, 'low': ratio.low, 'high': ratio.high}
                       for name, ratio in found['behind']]}


def add_results(report, table, raw):
    """Verdicts and figures to a report."""
    report['verdicts'] = [verdict_json(*entry) for entry in verdict.judge_all(table)]
    report['results'] = [as_json(name, cell) for name, cells in table.items() for cell in cells.values()]
    report['raw'] = [as_json(name, cell) for name, cells in raw.items() for cell in cells.values()]


def json_text(report):
    """results.json: a figure on a line."""
    lists = ('sources', 'verdicts', 'results', 'raw')
    lines = [f'  {json.dumps(key)}: {json.dumps(value)}' for key, value in report.items() if key not in lists]
    for key in lists:
        items = ',\n'.join('    ' + json.dumps(item) for item in report[key])
        lines.append(f'  {json.dumps(key)}: [' + (f'\n{items}\n  ]' if items else ']'))
    return '{\n' + ',\n'.join(lines) + '\n}\n'


def verdict_text(report):
    """The verdicts for a terminal."""
    if not report['verdicts']:
        return 'one source only: there is nothing to compare it with\n'
    return ''.join(f'{entry["title"]}: {entry["words"]}\n' for entry in report['verdicts'])


# ---- two reports ----


def load(directory):
    """The report of a directory."""
    path = os.path.join(directory, 'results.json')
    try:
        with open(path, encoding='utf-8') as file:
            report = json.load(file)
    except OSError as error:
        raise NoReport(f'{directory} has no results.json of datum-compare: {error.strerror}') from None
    except ValueError as error:
        raise NoReport(f'{path} is cut off or not one of datum-compare: {error}') from None
    if not isinstance(report, dict) or report.get('program') != 'datum-compare' or report.get('format') != 1:
        raise NoReport(f'{path} is not one of this datum-compare')
    return report


def figures(report):
    """All figures by source, test and size."""
    found = {(entry['source'], entry['test'], entry['size']): entry for entry in report['results']}
    found.update({('raw ' + entry['source'], entry['test'], entry['size']): entry for entry in report['raw']})
    return found


def unlike(old, new):
    """What was not the same when the two were measured."""
    pairs = [(f'{key} {old["machine"][key]}', f'{key} {new["machine"][key]}') for key in ('host', 'processor', 'cores')]
    pairs += [(f'datum-bench {old["options"]}', f'datum-bench {new["options"]}'),
              (f'settings {old["settings"] or "none"}', f'settings {new["settings"] or "none"}')]
    return [(a, b) for a, b in pairs if a != b]


def change_of(old, new):
    """How many times better the new figure is, if that is beyond noise; else None."""
    low, high = sorted((stats.cost(old['unit'], old['low']), stats.cost(old['unit'], old['high'])))
    new_low, new_high = sorted((stats.cost(new['unit'], new['low']), stats.cost(new['unit'], new['high'])))
    ratio = stats.cost(old['unit'], old['median']) / stats.cost(new['unit'], new['median'])
    least = MUCH if min(len(old['values']), len(new['values'])) > 1 else MUCH_RAW
    is_apart = new_low > high or new_high < low
    return ratio if is_apart and max(ratio, 1 / ratio) >= least else None


def changes(old, new):
    """Lines of what has become faster or slower."""
    found = []
    for key, entry in new.items():
        ratio = change_of(old[key], entry) if key in old else None
        if ratio is not None:
            words = ('better', 'worse') if entry['unit'] in ('%', 'MiB') else ('faster', 'slower')
            found.append({'change': words[ratio < 1], 'source': key[0], 'test': key[1], 'size': key[2], 'unit': entry['unit'],
                          'old': old[key]['median'], 'new': entry['median'], 'ratio': ratio})
    return found


def winners(old, new):
    """Verdicts of both: title, who was first, who is; None is nobody."""
    before = {entry['family']: entry['first'] for entry in old['verdicts']}
    return [{'title': entry['title'], 'old': before[entry['family']], 'new': entry['first']} for entry in new['verdicts']
            if entry['family'] in before]


def diff_text(found):
    """The same in words."""
    lines = []
    for entry in found['winners']:
        old, new = entry['old'] or 'nobody', entry['new'] or 'nobody'
        lines.append(f'{entry["title"]}: {new} is first' + (', as before' if old == new else f', where {old} was'))
    for entry in found['changes']:
        lines.append(f'{entry["change"]:<7} {entry["source"]:<24} {entry["test"]:<18} {entry["size"]:>10}  '
                     f'{entry["old"]:>12.6g} -> {entry["new"]:<12.6g} {entry["unit"]}  x {entry["ratio"]:.2f}')
    line = f'{found["compared"]} figures compared, {found["worse"]} slower or worse'
    for name in ('old', 'new'):
        n = found['only_' + name]
        line += f', {n} only in the {name} one' if n else ''
    return '\n'.join(lines + [line]) + '\n'


def diff(old_directory, new_directory, is_json):
    """Print what has changed between two directories; the exit status."""
    old, new = load(old_directory), load(new_directory)
    for a, b in unlike(old, new):
        print(f'datum-compare: not measured alike: "{a}" and "{b}"', file=sys.stderr)
    old_figures, new_figures = figures(old), figures(new)
    changed = changes(old_figures, new_figures)
    found = {'winners': winners(old, new), 'changes': changed,
             'compared': len(old_figures.keys() & new_figures.keys()),
             'worse': sum(entry['change'] in ('slower', 'worse') for entry in changed),
             'only_old': len(old_figures.keys() - new_figures.keys()),
             'only_new': len(new_figures.keys() - old_figures.keys())}
    print(json.dumps(found, indent=1) + '\n' if is_json else diff_text(found), end='')
    if not found['compared']:
        raise NoReport('they have no figure in common')
    return 1 if found['worse'] else 0
