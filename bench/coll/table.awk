# Lines "time who ranks name size median lowest highest cpu" and "overlap who ranks name size hidden
# ..." of several rounds, and "note part who ranks name why ...": tables.

function add(what, n, array) {
    if (!(what in seen)) {
        seen[what] = 1
        return n + 1
    }
    return n
}

function digits(x) {
    return sprintf(x < 100 ? "%.1f" : "%.0f", x)
}

# The peers' best of an array of texts of values; "" without any.
function peer_best(array, case_of,    i, best, m, key) {
    best = ""
    for (i = 1; i <= n_who; i++) {
        key = whos[i] SUBSEP case_of
        if (whos[i] ~ /^datum/ || !(key in array))
            continue
        m = median(array[key])
        if (best == "" || m < best)
            best = m
    }
    return best
}

function minimum_of(array, key) {
    median(array[key])
    return low
}

function cell(key, note_key) {
    if (!(key in med))
        return sprintf("%26s", note_key in notes ? notes[note_key] : "-")
    median(med[key])
    return sprintf("%9s [%7s %7s]", digits(median(med[key])), digits(minimum_of(best, key)), digits(high))
}

$1 == "note" {
    why = $6
    for (i = 7; i < NF; i++)
        why = why " " $i
    notes[$2, $3, $4, $5] = why
    n_notes++
    if (!($3 in is_who)) {
        is_who[$3] = 1
        whos[++n_who] = $3
    }
    next
}

{
    part = $1
    if (!(part in has))
        has[part] = 1
    if (!($2 in is_who)) {
        is_who[$2] = 1
        whos[++n_who] = $2
    }
    if (!((part, $3, $4) in is_table)) {
        is_table[part, $3, $4] = 1
        tables[part, ++n_tables[part]] = $3 SUBSEP $4
    }
    if (!((part, $3, $4, $5) in is_size)) {
        is_size[part, $3, $4, $5] = 1
        sizes[part, $3, $4, ++n_sizes[part, $3, $4]] = $5
    }
    key = part SUBSEP $2 SUBSEP $3 SUBSEP $4 SUBSEP $5
}

part == "time" {
    key = $2 SUBSEP $3 SUBSEP $4 SUBSEP $5
    med[key] = med[key] " " $6
    best[key] = best[key] " " $7
    cpu[key] = cpu[key] " " $9
}

part == "overlap" {
    key = $2 SUBSEP $3 SUBSEP $4 SUBSEP $5
    hid[key] = hid[key] " " $6
}

function show_time(    t, p, s, i, size, key, c, mine, his, line) {
    for (t = 1; t <= n_tables["time"]; t++) {
        split(tables["time", t], p, SUBSEP)
        printf "\n%s, %d ranks: us a call, median over the rounds [least of all highest]; CPU us of all ranks a call\n", \
            p[2], p[1]
        printf "%8s", "bytes"
        for (i = 1; i <= n_who; i++)
            printf " %26s", whos[i]
        printf "  %-10s cpu", "datum is"
        for (i = 1; i <= n_who; i++)
            printf " %8s", whos[i]
        printf "\n"
        for (s = 1; s <= n_sizes["time", p[1], p[2]]; s++) {
            size = sizes["time", p[1], p[2], s]
            c = p[1] SUBSEP p[2] SUBSEP size
            line = sprintf("%8d", size)
            for (i = 1; i <= n_who; i++)
                line = line " " cell(whos[i] SUBSEP c, "time" SUBSEP whos[i] SUBSEP p[1] SUBSEP p[2])
            key = "datum" SUBSEP c
            his = peer_best(med, c)
            if (key in med && his != "") {
                mine = median(med[key])
                line = line sprintf("  %-10s    ", sprintf("%.2fx", his / mine))
                ratios = ratios " " his / mine
                by_ranks[p[1]] = by_ranks[p[1]] " " his / mine
                by_name[p[2]] = by_name[p[2]] " " his / mine
                n_ahead[p[1]] += his >= mine
                n_cases[p[1]]++
                of_least[p[1]] = of_least[p[1]] " " least_peer(c) / minimum_of(best, key)
            } else
                line = line sprintf("  %-10s    ", "")
            for (i = 1; i <= n_who; i++) {
                key = whos[i] SUBSEP c
                line = line sprintf(" %8s", key in cpu ? digits(median(cpu[key])) : "-")
            }
            print line
        }
    }
}

function least_peer(c,    i, m, key, least) {
    least = ""
    for (i = 1; i <= n_who; i++) {
        key = whos[i] SUBSEP c
        if (whos[i] ~ /^datum/ || !(key in best))
            continue
        m = minimum_of(best, key)
        if (least == "" || m < least)
            least = m
    }
    return least
}

function show_overlap(    t, p, s, i, size, key) {
    for (t = 1; t <= n_tables["overlap"]; t++) {
        split(tables["overlap", t], p, SUBSEP)
        if (t == 1) {
            printf "\nOverlap: percent of the time of communication that computing hides\n"
            printf "%-24s %8s", "", "bytes"
            for (i = 1; i <= n_who; i++)
                printf " %13s", whos[i]
            printf "\n"
        }
        for (s = 1; s <= n_sizes["overlap", p[1], p[2]]; s++) {
            size = sizes["overlap", p[1], p[2], s]
            printf "%-24s %8d", "i" p[2] ", " p[1] " ranks", size
            for (i = 1; i <= n_who; i++) {
                key = whos[i] SUBSEP p[1] SUBSEP p[2] SUBSEP size
                if (key in hid)
                    printf " %11.0f %%", median(hid[key])
                else
                    printf " %13s", "-"
            }
            printf "\n"
        }
    }
}

END {
    show_time()
    show_overlap()
    if (n_tables["time"] > 0 && ratios != "") {
        printf "\nTo the better peer (more than 1: Datum is faster), median over the cases:\n"
        for (t = 1; t <= n_tables["time"]; t++) {
            split(tables["time", t], p, SUBSEP)
            if (!(p[1] in told) && p[1] in by_ranks) {
                told[p[1]] = 1
                printf "%4d ranks   %.2fx, by the least times %.2fx, at least as fast in %d of %d\n", p[1], \
                    median(by_ranks[p[1]]), median(of_least[p[1]]), n_ahead[p[1]], n_cases[p[1]]
            }
        }
        for (t = 1; t <= n_tables["time"]; t++) {
            split(tables["time", t], p, SUBSEP)
            if (!(p[2] in told) && p[2] in by_name) {
                told[p[2]] = 1
                printf "%-22s %.2fx\n", p[2], median(by_name[p[2]])
            }
        }
        printf "%-22s %.2fx\n", "all", median(ratios)
    }
    for (key in notes)
        if (split(key, p, SUBSEP) == 4)
            printf "%s, %d ranks, %s (%s): %s\n", p[2], p[3], p[4], p[1], notes[key] | "sort"
}
