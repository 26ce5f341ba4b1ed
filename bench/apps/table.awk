# Lines "kernel ranks who median least most" (seconds) and "kernel ranks who note why", fields with tabs
# between, of several rounds: a table of each kernel and number of ranks, and the sum of it.

function is_ours(who) {
    return who ~ /^datum/
}

{
    key = $1 FS $2
    if (!(key in seen)) {
        seen[key] = 1
        cases[++n_cases] = key
    }
    if (!($3 in is_who)) {
        is_who[$3] = 1
        whos[++n_whos] = $3
        n_peers += !is_ours($3)
        width = length($3) > width ? length($3) : width
    }
    key = key FS $3
    if ($4 == "note") {
        notes[key] = $5
        next
    }
    medians[key] = medians[key] " " $4
    if (!(key in least) || $5 + 0 < least[key])
        least[key] = $5 + 0
    if ($6 + 0 > most[key])
        most[key] = $6 + 0
}

function ms(seconds) {
    return sprintf(seconds < 1 ? "%.2f" : "%.0f", seconds * 1000)
}

function show_case(name,    i, key, who, p, peer, peer_least, line) {
    split(name, p, FS)
    printf "\n%s, %d ranks\n%-*s %9s %9s %9s", p[1], p[2], width, "ms", "median", "least", "most"
    print (n_peers > 0 ? "   to the better peer: medians, least" : "") (n_whos - n_peers > 1 ? "; to " whos[1] : "")
    peer = peer_least = 0
    for (i = 1; i <= n_whos; i++) {
        key = name FS whos[i]
        if (is_ours(whos[i]) || !(key in medians))
            continue
        if (peer == 0 || median(medians[key]) < peer)
            peer = median(medians[key])
        if (peer_least == 0 || least[key] < peer_least)
            peer_least = least[key]
    }
    for (i = 1; i <= n_whos; i++) {
        who = whos[i]
        key = name FS who
        if (!(key in medians)) {
            if (key in notes)
                printf "%-*s %s\n", width, who, notes[key]
            continue
        }
        line = sprintf("%-*s %9s %9s %9s", width, who, ms(median(medians[key])), ms(least[key]), ms(most[key]))
        if (is_ours(who) && peer > 0) {
            line = line sprintf("   %6.2fx %6.2fx", peer / median(medians[key]), peer_least / least[key])
            ratios[who, p[2]] = ratios[who, p[2]] " " peer / median(medians[key])
            of_least[who, p[2]] = of_least[who, p[2]] " " peer_least / least[key]
            n_all[who, p[2]]++
            n_ahead[who, p[2]] += peer >= median(medians[key])
        } else if (n_peers > 0)
            line = line sprintf("   %6s  %6s ", "", "")
        if (is_ours(who) && i > 1 && (name FS whos[1]) in medians)
            line = line sprintf(" %6.2fx", median(medians[name FS whos[1]]) / median(medians[key]))
        if (key in notes)
            line = line " (" notes[key] ")"
        sub(/ +$/, "", line)
        print line
    }
    if (!(p[2] in is_n)) {
        is_n[p[2]] = 1
        ns[++n_ns] = p[2]
    }
}

END {
    if (width < 8)
        width = 8
    for (c = 1; c <= n_cases; c++)
        show_case(cases[c])
    for (k = 1; k <= n_ns; k++)
        for (i = 1; i <= n_whos; i++) {
            if (!((whos[i], ns[k]) in ratios))
                continue
            if (!is_told++)
                printf "\nTo the better peer (more than 1: Datum is faster), median over the kernels:\n"
            printf "%-*s %3d ranks  %.2fx, by the least times %.2fx, at least as fast in %d of %d\n", width, whos[i], \
                ns[k], median(ratios[whos[i], ns[k]]), median(of_least[whos[i], ns[k]]), \
                n_ahead[whos[i], ns[k]], n_all[whos[i], ns[k]]
        }
}
