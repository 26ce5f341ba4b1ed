#!/usr/bin/env python3
"""report.py TABLE FILE [OPTION]: the table that a benchmark of bench/ makes of its raw lines, on standard output. TABLE is
one of the functions below whose name begins with "table_"; each says what its lines are."""
import collections
import statistics
import sys

OURS = 'datum'


def read(path, separator=None):
    """The lines of a file as lists of fields."""
    with open(path, encoding='utf-8') as file:
        return [line.rstrip('\n').split(separator) for line in file if line.strip()]


def grouped(rows):
    """Rows (key, value) to key -> values, in the order of the keys' first values."""
    groups = {}
    for key, value in rows:
        groups.setdefault(key, []).append(float(value))
    return groups


def once(items):
    """Each item once, in order."""
    return list(dict.fromkeys(items))


def is_ours(who):
    """Datum, or Datum with settings."""
    return who.startswith(OURS)


def best_of(groups, whos, key):
    """The least median of some at a place; None if none of them was there."""
    return min((statistics.median(groups[(who, *key)]) for who in whos if (who, *key) in groups), default=None)


# ---- who beside whom ----


def is_rate(what):
    """More is better for rates, less for everything else."""
    return 'bandwidth' in what or 'rate' in what


def unit_of(what):
    """What the figures of a test are."""
    if is_rate(what):
        return 'per second' if 'rate' in what else 'MB/s one way'
    if what.endswith('_ms'):
        return 'ms, the slowest rank'
    if what.startswith('pss'):
        return 'MiB, the largest rank'
    return 'us per half round trip' if what == 'latency' else 'us'


def compare_cell(values, what):
    """Median, least and most."""
    if values is None:
        return f'{"-":>24}'
    digits = (0, 8, 6) if is_rate(what) else (3, 8, 6)
    return (f'{statistics.median(values):{digits[1]}.{digits[0]}f} [{min(values):{digits[2]}.{digits[0]}f} '
            f'{max(values):{digits[2]}.{digits[0]}f}]')


def times(what, ours, theirs):
    """How many times better."""
    return ours / theirs if is_rate(what) else theirs / ours


def compare_ratios(groups, what, size):
    """To the better peer, a bare socket and bare libfabric."""
    mine = groups.get((OURS, what, size))
    peers = [statistics.median(groups[who, what, size]) for who in ('mpich', 'openmpi') if (who, what, size) in groups]
    if mine is None or not peers:
        return ''
    mine = statistics.median(mine)
    text = f'   {times(what, mine, (max if is_rate(what) else min)(peers)):.2f}x the better peer'
    for who, name in (('socket', 'the socket'), ('fabric', 'libfabric')):
        if (who, what, size) in groups:
            text += f', {times(what, mine, statistics.median(groups[who, what, size])):.2f}x {name}'
    return text


def table_compare(path, of=None):
    """Lines "who what size median best" of several rounds, "floor floor size us", "dat what size unit value"; of: what the
    sizes are numbers of, if not bytes."""
    rows = read(path)
    floors = [row[3] for row in rows if row[1] == 'floor']
    dat = grouped(((row[1], row[2], row[3]), row[4]) for row in rows if row[0] == 'dat' and row[1] != 'floor')
    rows = [row for row in rows if row[1] != 'floor' and row[0] != 'dat']
    groups = grouped(((row[0], row[1], row[2]), row[3]) for row in rows)
    whos = once(row[0] for row in rows)
    if floors:
        print('cache line hand-over, us one way, per round:', *floors)
    for (what, size, unit), values in dat.items():
        print(f'raw DAT {what:<28} {size:>8} B {statistics.median(values):10.3f} [{min(values):.3f} {max(values):.3f}] {unit}')
    for what in once(row[1] for row in rows):
        numbers = of or ('ranks' if what.startswith(('init', 'pss')) else 'bytes')
        print(f'\n{what}, {unit_of(what)}: median over the rounds [lowest highest]')
        print(f'{numbers:>9}' + ''.join(f' {who:>24}' for who in whos) + f'   {OURS} is')
        for size in once(row[2] for row in rows if row[1] == what):
            cells = ''.join(' ' + compare_cell(groups.get((who, what, size)), what) for who in whos)
            print(f'{size:>9}{cells}{compare_ratios(groups, what, size)}')


# ---- collectives ----


def digits(value):
    """A time in us."""
    return f'{value:.1f}' if value < 100 else f'{value:.0f}'


def coll_table(found, whos, ranks, name, ratios):
    """A table of one collective; its ratios to the better peer go to ratios."""
    medians, leasts, cpus, notes = found
    print(f'\n{name}, {ranks} ranks: us a call, median over the rounds [least of all highest]; CPU us of all ranks a call')
    print(f'{"bytes":>8}' + ''.join(f' {who:>26}' for who in whos) + f'  {"datum is":<10} cpu' + ''.join(f' {who:>8}' for who in whos))
    for size in once(key[3] for key in medians if key[1:3] == (ranks, name)):
        place = (ranks, name, size)
        line = f'{size:>8}'
        for who in whos:
            key = (who, *place)
            line += f' {notes.get(("time", who, ranks, name), "-"):>26}' if key not in medians else (
                f' {digits(statistics.median(medians[key])):>9} [{digits(min(leasts[key])):>7} {digits(max(medians[key])):>7}]')
        peers = [who for who in whos if not is_ours(who)]
        his = best_of(medians, peers, place)
        ratio = ''
        if (OURS, *place) in medians and his is not None:
            mine = statistics.median(medians[(OURS, *place)])
            least = min(value for who in peers if (who, *place) in leasts for value in leasts[(who, *place)])
            ratios.append((ranks, name, his / mine, least / min(leasts[(OURS, *place)])))
            ratio = f'{his / mine:.2f}x'
        print(f'{line}  {ratio:<10}    ' + ''.join(
            f' {digits(statistics.median(cpus[(who, *place)])) if (who, *place) in cpus else "-":>8}' for who in whos))


def coll_summary(ratios):
    """Medians of the ratios: for each number of ranks, each collective, all."""
    print('\nTo the better peer (more than 1: Datum is faster), median over the cases:')
    for ranks in once(row[0] for row in ratios):
        mine = [row for row in ratios if row[0] == ranks]
        print(f'{ranks:>4} ranks   {statistics.median(row[2] for row in mine):.2f}x, by the least times '
              f'{statistics.median(row[3] for row in mine):.2f}x, at least as fast in {sum(row[2] >= 1 for row in mine)} of {len(mine)}')
    for name in once(row[1] for row in ratios):
        print(f'{name:<22} {statistics.median(row[2] for row in ratios if row[1] == name):.2f}x')
    print(f'{"all":<22} {statistics.median(row[2] for row in ratios):.2f}x')


def coll_overlap(hidden, whos):
    """What computing hides."""
    if hidden:
        print('\nOverlap: percent of the time of communication that computing hides')
        print(f'{"":<24} {"bytes":>8}' + ''.join(f' {who:>13}' for who in whos))
    for ranks, name in once(key[1:3] for key in hidden):
        for size in once(key[3] for key in hidden if key[1:3] == (ranks, name)):
            cells = [f'{statistics.median(hidden[who, ranks, name, size]):.0f} %' if (who, ranks, name, size) in hidden else '-'
                     for who in whos]
            print(f'{f"i{name}, {ranks} ranks":<24} {size:>8}' + ''.join(f' {cell:>13}' for cell in cells))


def table_coll(path):
    """Lines "time who ranks name size median lowest highest cpu" and "overlap who ranks name size hidden ..." of several
    rounds, and "note part who ranks name why ... status"."""
    rows = read(path)
    whos = once(row[2] if row[0] == 'note' else row[1] for row in rows)
    notes = {tuple(row[1:5]): ' '.join(row[5:-1] if len(row) > 6 else row[5:]) for row in rows if row[0] == 'note'}
    timed = [row for row in rows if row[0] == 'time']
    found = (*(grouped((tuple(row[1:5]), row[column]) for row in timed) for column in (5, 6, 8)), notes)
    ratios = []
    for ranks, name in once((row[2], row[3]) for row in timed):
        coll_table(found, whos, ranks, name, ratios)
    coll_overlap(grouped((tuple(row[1:5]), row[5]) for row in rows if row[0] == 'overlap'), whos)
    if ratios:
        coll_summary(ratios)
    for line in sorted(f'{who}, {ranks} ranks, {name} ({part}): {why}' for (part, who, ranks, name), why in notes.items()):
        print(line)


# ---- applications ----


def milliseconds(seconds):
    """Of seconds."""
    return f'{seconds * 1000:.2f}' if seconds < 1 else f'{seconds * 1000:.0f}'


def apps_case(case, found, whos, width, ratios):
    """A kernel with a number of ranks: a line for each who was there."""
    medians, leasts, mosts, notes = found
    peers = [who for who in whos if not is_ours(who)]
    print(f'\n{case[0]}, {case[1]} ranks\n{"ms":<{width}} {"median":>9} {"least":>9} {"most":>9}' +
          ('   to the better peer: medians, least' if peers else '') +
          (f'; to {whos[0]}' if len(whos) - len(peers) > 1 else ''))
    peer = best_of(medians, peers, case)
    peer_least = min((min(leasts[(who, *case)]) for who in peers if (who, *case) in leasts), default=None)
    for i, who in enumerate(whos):
        key = (who, *case)
        if key not in medians:
            if key in notes:
                print(f'{who:<{width}} {notes[key]}')
            continue
        mine = statistics.median(medians[key])
        line = f'{who:<{width}}' + ''.join(f' {milliseconds(value):>9}' for value in (mine, min(leasts[key]), max(mosts[key])))
        if is_ours(who) and peer:
            ratios.append((who, case[1], peer / mine, peer_least / min(leasts[key])))
            line += f'   {peer / mine:6.2f}x {peer_least / min(leasts[key]):6.2f}x'
        elif peers:
            line += ' ' * 18
        if is_ours(who) and i > 0 and (whos[0], *case) in medians:
            line += f' {statistics.median(medians[(whos[0], *case)]) / mine:6.2f}x'
        print((line + (f' ({notes[key]})' if key in notes else '')).rstrip())


def table_apps(path):
    """Lines "kernel ranks who median least most" (seconds) and "kernel ranks who note why", with tabs between, of several
    rounds."""
    rows = read(path, '\t')
    whos = once(row[2] for row in rows)
    width = max([len(who) for who in whos] + [8])
    notes = {(row[2], row[0], row[1]): row[4] for row in rows if row[3] == 'note'}
    timed = [row for row in rows if row[3] != 'note']
    found = (*(grouped(((row[2], row[0], row[1]), row[column]) for row in timed) for column in (3, 4, 5)), notes)
    ratios = []
    for case in once((row[0], row[1]) for row in rows):
        apps_case(case, found, whos, width, ratios)
    if ratios:
        print('\nTo the better peer (more than 1: Datum is faster), median over the kernels:')
    for ranks in once(row[1] for row in rows):
        for who in whos:
            mine = [row for row in ratios if row[:2] == (who, ranks)]
            if mine:
                print(f'{who:<{width}} {ranks:>3} ranks  {statistics.median(row[2] for row in mine):.2f}x, by the least times '
                      f'{statistics.median(row[3] for row in mine):.2f}x, at least as fast in {sum(row[2] >= 1 for row in mine)} of {len(mine)}')


def table_hits(path):
    """Lines "kernel ranks who made again bytes" and "kernel ranks who note why", with tabs between: the share of
    registrations that were found again."""
    print(f'{"kernel":<10} {"ranks":>5} {"made":>9} {"found again":>12} {"hits":>7} {"KiB made":>10}   settings')
    for row in read(path, '\t'):
        settings = row[2][6:] if row[2].startswith('datum ') else row[2]
        if row[3] == 'note':
            print(f'{row[0]:<10} {row[1]:>5}   {settings}: {row[4]}')
            continue
        made, again, size = (float(word) for word in row[3:6])
        share = f'{100 * again / (made + again):.1f}%' if made + again > 0 else '-'
        print(f'{row[0]:<10} {row[1]:>5} {made:9.0f} {again:12.0f} {share:>7} {size / 1024:10.0f}   {settings}')


# ---- files, datatypes, starting ----


def table_io(path):
    """Lines "who ranks case size what median best" of several rounds, and "note ..."."""
    rows = read(path)
    notes = [' '.join(row[1:]) for row in rows if row[0] == 'note']
    rows = [row for row in rows if row[0] != 'note']
    groups = grouped((tuple(row[:5]), row[5]) for row in rows)
    whos = once(row[0] for row in rows)
    print('ms for all ranks; us a call of shared, short and open. Median over the rounds [least, most]')
    print(f'{"ranks":>5} {"case":<12} {"bytes":>5} {"":<13}' + ''.join(f' {who:>26}' for who in whos) + '  to the best peer')
    ratios = []
    for place in once(tuple(row[1:5]) for row in rows):
        line = f'{place[0]:>5} {place[1]:<12} {place[2]:>5} {place[3]:<13}'
        for who in whos:
            values = groups.get((who, *place))
            line += f' {"-":>26}' if values is None else f' {statistics.median(values):9.1f} [{min(values):6.1f} {max(values):7.1f}]'
        best = best_of(groups, ('mpich', 'ompio', 'oromio'), place)
        if best is not None and (OURS, *place) in groups:
            ratios.append(best / statistics.median(groups[(OURS, *place)]))
            line += f'  {ratios[-1]:.2f}x'
        print(line)
    if ratios:
        print(f'\nTo the best peer (more than 1: Datum is faster): {statistics.median(ratios):.2f}x, the median over the cases; '
              f'at least as fast in {sum(ratio >= 1 for ratio in ratios)} of {len(ratios)}')
    for note in notes:
        print(note)


def table_datatype(path):
    """Lines "who what layout MB/s" of several rounds, and "who wrong layout": the best of them, with ratios."""
    rows = read(path)
    for row in rows:
        if row[1] == 'wrong':
            print(f'{row[0]} packs {row[2]} wrongly')
    groups = grouped((tuple(row[:3]), row[3]) for row in rows if len(row) > 3)
    for what, hand in (('pack', 'hand_pack'), ('unpack', 'hand_unpack'), ('pingpong', None)):
        layouts = once(key[2] for key in groups if key[1] == what)
        if layouts:
            print(f'\n{what}, MB/s: the best of the rounds\n{"layout":<12} {"datum":>8} {"mpich":>8} {"openmpi":>8}' +
                  (f' {"by hand":>8}  to better peer  to hand' if hand else '  to better peer'))
        for layout in layouts:
            own, mpich, openmpi, by_hand = (max(groups.get((who, kind, layout), [0])) for who, kind in (
                (OURS, what), ('mpich', what), ('openmpi', what), (OURS, hand)))
            peer = max(mpich, openmpi)
            line = f'{layout:<12} {int(own):>8} {int(mpich):>8} {int(openmpi):>8}' + (f' {int(by_hand):>8}' if hand else '')
            line += f'  {f"{own / peer:.2f}x" if peer > 0 else "-":>14}' + (f'  {own / by_hand:6.2f}x' if by_hand > 0 else '')
            print(line)


def table_local(path):
    """Lines "who what us" of several rounds: the least of each, and its part of the better peer's; rows behind are counted."""
    groups = grouped(((row[0], row[1]), row[2]) for row in read(path))
    least = {key: min(values) for key, values in groups.items()}
    print(f'{"us, the least":<26} {"datum":>10} {"mpich":>10} {"openmpi":>10}  to better peer')
    ratios = []
    for what in once(key[1] for key in groups):
        cells = ''.join(f' {f"{least[who, what]:.4g}" if (who, what) in least else "-":>10}' for who in (OURS, 'mpich', 'openmpi'))
        peer = min((least[who, what] for who in ('mpich', 'openmpi') if (who, what) in least), default=None)
        ratio = '-'
        if peer is not None and (OURS, what) in least:
            ratios.append(peer / least[OURS, what])
            ratio = f'{ratios[-1]:.2f}x'
        print(f'{what:<26}{cells}  {ratio:>14}')
    if ratios:
        print(f'\nTo the better peer (more than 1: Datum is faster): {statistics.median(ratios):.2f}x, the median over the rows; '
              f'at least as fast in {sum(ratio >= 1 for ratio in ratios)} of {len(ratios)}')


def table_start(path):
    """Lines "who case round microseconds": the median of each, and the median of the rounds' ratios to the better peer."""
    rows = read(path)
    alls = grouped(((row[0], row[1]), row[3]) for row in rows)
    of_round = grouped((tuple(row[:3]), row[3]) for row in rows)
    print(f'{"ms, medians":<12} {"datum":>9} {"mpich":>9} {"openmpi":>9}   to better peer (least to greatest)')
    for case in once(row[1] for row in rows):
        medians = {who: statistics.median(alls[who, case]) for who in (OURS, 'mpich', 'openmpi') if (who, case) in alls}
        peer = min((who for who in medians if who != OURS), key=medians.get, default=None)
        ratios = [statistics.median(of_round[OURS, case, i]) / statistics.median(of_round[peer, case, i])
                  for i in once(row[2] for row in rows) if (OURS, case, i) in of_round and (peer, case, i) in of_round]
        cells = ''.join(f' {f"{medians[who] / 1000:.2f}" if who in medians else "-":>9}' for who in (OURS, 'mpich', 'openmpi'))
        ratio = f'{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})' if ratios else '-'
        print(f'{case:<12}{cells}   {ratio}')


# ---- providers beside their floors ----


def quantile(values, share):
    """The part of the sorted values: 0.5 is the median."""
    ordered = sorted(values)
    at = (len(ordered) - 1) * share
    low = int(at)
    return ordered[low] if low + 1 == len(ordered) else ordered[low] + (at - low) * (ordered[low + 1] - ordered[low])


def figure(value):
    """In few digits."""
    return f'{value:.2f}' if value < 100 else f'{value:.1f}' if value < 1000 else f'{value:.0f}'


def middle_half(values):
    """The median and what half of the values lies in."""
    return f'{figure(quantile(values, .5)):>8} [{figure(quantile(values, .25)):>7} {figure(quantile(values, .75)):>7}]'


def size_name(size):
    """Bytes, short."""
    for unit, name in ((1 << 20, 'MiB'), (1 << 10, 'KiB')):
        if size >= unit:
            return f'{size / unit:.6g} {name}'
    return f'{size} B'


def aim(what, size):
    """How many times the floor's time is aimed at; None: there is no aim."""
    if what == 'write_pingpong' and size == 8:
        return 1.30
    if (what == 'write_mapped' and size >= 16384) or what == 'read_private':
        return 1.05
    return None


def table_dat(path, must='0'):
    """Lines "what size unit ours floor_name floor", one per turn: medians, the middle half of the turns, and how many times
    as long as the floor it takes, with the aims. Exit status 1 when an aim is missed and must is 1."""
    rows = collections.defaultdict(list)
    for row in read(path):
        if len(row) != 6:
            print('report: not a line of a measurement:', *row, file=sys.stderr)
            sys.exit(2)
        rows[row[0], int(row[1])].append(row)
    print(f'{"":<23} {"":>8} {"unit":<5} {"median [middle half]":>26}  {"floor":>26} {"":<17} {"x time":>6}')
    met = missed = 0
    for (what, size), turns in rows.items():
        ours, floors = ([float(row[column]) for row in turns] for column in (3, 5))
        unit, floor_name = turns[0][2], turns[0][4]
        line = f'{what:<23} {size_name(size):>8} {unit:<5} {middle_half(ours):>26}'
        if min(ours + floors) <= 0:
            print(f'{line}  {"-":>26}')
            continue
        ratio = quantile([b / a if unit == 'MB/s' else a / b for a, b in zip(ours, floors)], .5)
        line += f'  {middle_half(floors):>26} {floor_name:<17} {ratio:6.2f}'
        want = aim(what, size)
        if want is not None:
            met, missed = met + (ratio <= want), missed + (ratio > want)
            line += f'  aim {want:.2f}' + ('' if ratio <= want else ': MISSED')
        print(line)
    if met + missed > 0:
        print(f'aims: {met} met, {missed} missed')
    if must == '1' and missed:
        sys.exit(1)


def main():
    """The table that is asked for."""
    tables = {name[6:]: function for name, function in globals().items() if name.startswith('table_')}
    if len(sys.argv) < 3 or sys.argv[1] not in tables:
        sys.exit(f'usage: report.py TABLE FILE [OPTION]   tables: {" ".join(tables)}')
    tables[sys.argv[1]](*sys.argv[2:])


if __name__ == '__main__':
    main()
