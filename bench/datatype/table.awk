# Lines "who what layout MB/s" of several rounds: tables of the best, with ratios.

$4 > best[$1, $2, $3] { best[$1, $2, $3] = $4 }
!(($2, $3) in known) {
    known[$2, $3] = 1
    layouts[$2] = layouts[$2] " " $3
}
$2 == "wrong" { printf "%s packs %s wrongly\n", $1, $3 }

function table(what, hand,    list, count, i, l, peer, by_hand, own) {
    if (!(what in layouts))
        return
    printf "\n%s, MB/s: the best of the rounds\n%-12s %8s %8s %8s", what, "layout", "datum",
        "mpich", "openmpi"
    printf hand == "" ? "  to better peer\n" : " %8s  to better peer  to hand\n", "by hand"
    count = split(layouts[what], list, " ")
    for (i = 1; i <= count; i++) {
        l = list[i]
        own = best["datum", what, l]
        peer = best["mpich", what, l]
        if (best["openmpi", what, l] > peer)
            peer = best["openmpi", what, l]
        printf "%-12s %8d %8d %8d", l, own, best["mpich", what, l], best["openmpi", what, l]
        by_hand = hand == "" ? 0 : best["datum", hand, l]
        if (hand != "")
            printf " %8d", by_hand
        printf "  %14s", (peer > 0 ? sprintf("%.2fx", own / peer) : "-")
        if (by_hand > 0)
            printf "  %6.2fx", own / by_hand
        printf "\n"
    }
}

END {
    table("pack", "hand_pack")
    table("unpack", "hand_unpack")
    table("pingpong", "")
}
