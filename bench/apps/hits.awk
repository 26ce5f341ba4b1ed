# Lines "kernel ranks who made again bytes" and "kernel ranks who note why", fields with tabs between: a line for
# each, with the share of registrations that were found again.

function share(again, all) {
    return all > 0 ? sprintf("%.1f%%", 100 * again / all) : "-"
}

NR == 1 {
    printf "%-10s %5s %9s %12s %7s %10s   %s\n", "kernel", "ranks", "made", "found again", "hits", "KiB made", "settings"
}

{
    sub(/^datum /, "", $3)
    if ($4 == "note")
        printf "%-10s %5s   %s: %s\n", $1, $2, $3, $5
    else
        printf "%-10s %5s %9.0f %12.0f %7s %10.0f   %s\n", $1, $2, $4, $5, share($5, $4 + $5), $6 / 1024, $3
}
