# Lines "who what size median best" of several rounds: tables of medians with spread and ratios.
# -v of=WORD: what the sizes are numbers of, if not bytes.

# More is better for rates, less for everything else.
function is_rate(what) {
    return what ~ /bandwidth|rate/
}

function unit_of(what) {
    if (is_rate(what))
        return what ~ /rate/ ? "per second" : "MB/s one way"
    if (what ~ /_ms$/)
        return "ms, the slowest rank"
    if (what ~ /^pss/)
        return "MiB, the largest rank"
    return what == "latency" ? "us per half round trip" : "us"
}

function median(key,    n, i, j, t, a) {
    n = count[key]
    for (i = 1; i <= n; i++)
        a[i] = value[key, i]
    for (i = 2; i <= n; i++) {
        t = a[i]
        for (j = i - 1; j >= 1 && a[j] > t; j--)
            a[j + 1] = a[j]
        a[j + 1] = t
    }
    low = a[1]
    high = a[n]
    return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
}

function cell(who, what, size,    key, m) {
    key = who SUBSEP what SUBSEP size
    if (!(key in count))
        return sprintf("%24s", "-")
    m = median(key)
    return sprintf(is_rate(what) ? "%8.0f [%6.0f %6.0f]" : "%8.3f [%6.3f %6.3f]", m, low, high)
}

function peer_best(what, size,    m, best, i, key) {
    best = ""
    for (i = 1; i <= n_who; i++) {
        key = order[i] SUBSEP what SUBSEP size
        if ((order[i] != "mpich" && order[i] != "openmpi") || !(key in count))
            continue
        m = median(key)
        if (best == "" || (is_rate(what) ? m > best : m < best))
            best = m
    }
    return best
}

$2 == "floor" {
    floors = floors " " $4
    key = "floor" SUBSEP "floor" SUBSEP 64
    value[key, ++count[key]] = $4
    next
}

$1 == "dat" {
    key = $1 SUBSEP $2 SUBSEP $3
    if (!(key in count))
        dat_rows[++n_dat] = key
    value[key, ++count[key]] = $5
    unit[key] = $4
    next
}

{
    if (!($1 in seen)) {
        seen[$1] = 1
        order[++n_who] = $1
    }
    if (!($2 in seen_what)) {
        seen_what[$2] = 1
        whats[++n_what] = $2
    }
    if (!(($2, $3) in have)) {
        have[$2, $3] = 1
        sizes[$2, ++n_sizes[$2]] = $3
    }
    key = $1 SUBSEP $2 SUBSEP $3
    value[key, ++count[key]] = $4
}

END {
    if (floors != "")
        printf "cache line hand-over, us one way, per round:%s\n", floors
    for (i = 1; i <= n_dat; i++) {
        split(dat_rows[i], part, SUBSEP)
        m = median(dat_rows[i])
        printf "raw DAT %-28s %8s B %10.3f [%.3f %.3f] %s\n", part[2], part[3], m, low, high, \
            unit[dat_rows[i]]
    }
    for (w = 1; w <= n_what; w++) {
        what = whats[w]
        printf "\n%s, %s: median over the rounds [lowest highest]\n%9s", what, \
            unit_of(what), of != "" ? of : what ~ /^(init|pss)/ ? "ranks" : "bytes"
        for (i = 1; i <= n_who; i++)
            printf " %24s", order[i]
        printf "   datum is\n"
        for (s = 1; s <= n_sizes[what]; s++) {
            size = sizes[what, s]
            printf "%9d", size
            for (i = 1; i <= n_who; i++)
                printf " %s", cell(order[i], what, size)
            key = "datum" SUBSEP what SUBSEP size
            best = peer_best(what, size)
            if (key in count && best != "") {
                m = median(key)
                printf "   %.2fx the better peer", is_rate(what) ? m / best : best / m
                for (f = 1; f <= 2; f++) {
                    key = (f == 1 ? "socket" : "fabric") SUBSEP what SUBSEP size
                    if (key in count)
                        printf ", %.2fx %s", is_rate(what) ? m / median(key) : median(key) / m, \
                            f == 1 ? "the socket" : "libfabric"
                }
            }
            printf "\n"
        }
    }
}
