# Lines "who case round microseconds": the median of each, and its ratio to the better peer: the median of
# the rounds' ratios, with the least and the greatest.

{
    if (!($2 in known)) { known[$2] = 1; cases[++n_cases] = $2 }
    if ($3 > n_rounds) n_rounds = $3
    values[$1, $2, $3] = values[$1, $2, $3] " " $4
    all[$1, $2] = all[$1, $2] " " $4
}

function middle(text) { return text == "" ? 0 : median(text) }

function cell(value) { return value > 0 ? sprintf("%.2f", value / 1000) : "-" }

END {
    printf "%-12s %9s %9s %9s   %s\n", "ms, medians", "datum", "mpich", "openmpi", "to better peer (least to greatest)"
    for (c = 1; c <= n_cases; c++) {
        one = cases[c]
        own = middle(all["datum", one]); mpich = middle(all["mpich", one]); openmpi = middle(all["openmpi", one])
        best = mpich > 0 && (openmpi == 0 || mpich < openmpi) ? "mpich" : "openmpi"
        ratios = ""
        for (r = 1; r <= n_rounds; r++) {
            peer = middle(values[best, one, r]); mine = middle(values["datum", one, r])
            if (peer > 0 && mine > 0) ratios = ratios " " mine / peer
        }
        ratio = middle(ratios)
        printf "%-12s %9s %9s %9s   %s\n", one, cell(own), cell(mpich), cell(openmpi),
            (ratio > 0 ? sprintf("%.2f (%.2f to %.2f)", ratio, low, high) : "-")
    }
}
