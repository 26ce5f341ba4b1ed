# Lines "what size unit ours floor_name floor", one per turn: a table of medians, the middle half of
# the turns, and how many times as long as the floor it takes (the median over the turns of the
# ratios), with the aims. Exit status 1 when an aim is missed and -v must=1 is given.

function sort_list(n,    i, j, t) {
    for (i = 2; i <= n; i++) {
        t = list[i]
        for (j = i - 1; j >= 1 && list[j] > t; j--)
            list[j + 1] = list[j]
        list[j + 1] = t
    }
}

# The part q of the sorted values: 0.5 is the median.
function quantile(key, column, q,    n, i, at, low) {
    n = count[key]
    for (i = 1; i <= n; i++)
        list[i] = value[key, column, i]
    sort_list(n)
    at = 1 + (n - 1) * q
    low = int(at)
    return low == n ? list[n] : list[low] + (at - low) * (list[low + 1] - list[low])
}

function figure(x) {
    return sprintf(x < 100 ? "%.2f" : x < 1000 ? "%.1f" : "%.0f", x)
}

function cell(key, column) {
    return sprintf("%8s [%7s %7s]", figure(quantile(key, column, 0.5)),
        figure(quantile(key, column, 0.25)), figure(quantile(key, column, 0.75)))
}

function bytes(n) {
    return n >= 1048576 ? n / 1048576 " MiB" : n >= 1024 ? n / 1024 " KiB" : n " B"
}

# How many times the floor's time is aimed at; 0: no aim.
function aim(what, size) {
    if (what == "write_pingpong" && size == 8)
        return 1.30
    if ((what == "write_mapped" && size >= 16384) || what == "read_private")
        return 1.05
    return 0
}

NF != 6 {
    print "table: not a line of a measurement: " $0 >"/dev/stderr"
    exit 2
}

{
    key = $1 SUBSEP $2
    if (!(key in count)) {
        order[++n_rows] = key
        unit[key] = $3
        floor_name[key] = $5
    }
    i = ++count[key]
    value[key, "ours", i] = $4
    value[key, "floor", i] = $6
    if ($4 > 0 && $6 > 0)
        value[key, "ratio", i] = $3 == "MB/s" ? $6 / $4 : $4 / $6
    else
        no_ratio[key] = 1
}

END {
    printf "%-23s %8s %-5s %26s  %26s %-17s %6s\n", "", "", "unit", "median [middle half]", "floor",
        "", "x time"
    for (r = 1; r <= n_rows; r++) {
        key = order[r]
        split(key, part, SUBSEP)
        printf "%-23s %8s %-5s %26s", part[1], bytes(part[2]), unit[key], cell(key, "ours")
        if (key in no_ratio) {
            printf "  %26s\n", "-"
            continue
        }
        x = quantile(key, "ratio", 0.5)
        printf "  %26s %-17s %6.2f", cell(key, "floor"), floor_name[key], x
        want = aim(part[1], part[2])
        if (want > 0) {
            is_met = x <= want
            n_met += is_met
            n_missed += !is_met
            printf "  aim %.2f%s", want, is_met ? "" : ": MISSED"
        }
        printf "\n"
    }
    if (n_met + n_missed > 0)
        printf "aims: %d met, %d missed\n", n_met, n_missed
    if (must && n_missed > 0)
        exit 1
}
