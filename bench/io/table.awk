# Lines "who ranks case size what median best" of several rounds, and "note ...": a table.

$1 == "note" {
    sub(/^note /, "")
    notes[++n_notes] = $0
    next
}

{
    if (!($1 in is_who)) {
        is_who[$1] = 1
        whos[++n_who] = $1
    }
    row = $2 SUBSEP $3 SUBSEP $4 SUBSEP $5
    if (!(row in is_row)) {
        is_row[row] = 1
        rows[++n_rows] = row
    }
    med[$1, row] = med[$1, row] " " $6
}

function cell(who, row,    m) {
    if (!((who, row) in med))
        return sprintf("%26s", "-")
    m = median(med[who, row])
    return sprintf("%9.1f [%6.1f %7.1f]", m, low, high)
}

END {
    print "ms for all ranks; us a call of shared and open. Median over the rounds [least, most]"
    printf "%5s %-12s %5s %-13s", "ranks", "case", "bytes", ""
    for (i = 1; i <= n_who; i++)
        printf " %26s", whos[i]
    printf "  %s\n", "to the best peer"
    for (r = 1; r <= n_rows; r++) {
        row = rows[r]
        split(row, p, SUBSEP)
        printf "%5d %-12s %5d %-13s", p[1], p[2], p[3], p[4]
        best = ""
        for (i = 1; i <= n_who; i++) {
            printf " %s", cell(whos[i], row)
            if (whos[i] !~ /^(mpich|ompio|oromio)$/ || !((whos[i], row) in med))
                continue
            m = median(med[whos[i], row])
            if (best == "" || m < best)
                best = m
        }
        if (best != "" && (("datum", row) in med)) {
            mine = median(med["datum", row])
            printf "  %.2fx", best / mine
            ratios = ratios " " best / mine
            n_ahead += best >= mine
            n_cases++
        }
        printf "\n"
    }
    if (n_cases > 0)
        printf "\nTo the best peer (more than 1: Datum is faster): %.2fx, the median over the cases; at least as fast in %d of %d\n",
            median(ratios), n_ahead, n_cases
    for (i = 1; i <= n_notes; i++)
        print notes[i]
}
