# Which runs a test has: what its directives say, the product of its settings, and what the first
# tier leaves out of that (docs/TESTING.md, "Two tiers"). For tests/run, whose variables it uses.

# directives FILE: sets the d_* variables. Values may be in double quotes.
directives() {
    d_np=2 d_prov='' d_cfg='' d_timeout=30 d_args='' d_exit=0 d_stderr='' d_warn='' d_params=''
    d_net='' d_san=yes d_env='' d_layers='' d_kind='' d_tier='' d_beside=no
    local line='' key val rest i
    for ((i = 0; i < 5; i++)); do
        IFS= read -r line || break
        [[ $line != *'test: '* ]] || break
    done <"$1"
    [[ $line == *'test: '* ]] || return 0
    rest=${line#*test: }
    rest=${rest%%'*/'*}
    while [[ $rest =~ ^[[:space:]]*([a-z]+)=(\"[^\"]*\"|[^[:space:]]*)(.*)$ ]]; do
        key=${BASH_REMATCH[1]} val=${BASH_REMATCH[2]} rest=${BASH_REMATCH[3]}
        val=${val#\"} val=${val%\"}
        case $key in
        np | prov | net | cfg | timeout | args | exit | stderr | warn | params | san | env | layers | \
            kind | tier | beside)
            printf -v "d_$key" %s "$val" ;;
        *) echo "$1: unknown directive \"$key\"" >&2; return 1 ;;
        esac
    done
    if [[ $rest =~ [^[:space:]] ]]; then
        echo "$1: cannot read the directive \"$rest\"" >&2
        return 1
    fi
}

# To start a process costs more than to run many a test: what follows answers in variables.

# combos A=1|2,B=3: the members of the cross product, "A=1 B=3", to the array combined.
combos() {
    local next item name alt have
    local IFS=,
    combined=('')
    for item in $1; do
        name=${item%%=*}
        next=()
        IFS='|'
        for alt in ${item#*=}; do
            for have in "${combined[@]}"; do
                next+=("${have:+$have }$name=$alt")
            done
        done
        IFS=,
        combined=("${next[@]}")
    done
}

# provider_lib NAME: its library, to lib. provider_params NAME: what of a test's ia_params it
# understands, to the array params. Over the network tests use the loopback, which every host has.
provider_lib() {
    lib=$build/lib/libdatum_dapl_${1#datum-}.so
}
provider_params() {
    local i
    if [ "$1" = datum-shm ]; then
        IFS='|' read -r -a params <<<"${d_params//,/ }"
        [ ${#params[@]} -gt 0 ] || params=('')
        return
    fi
    IFS='|' read -r -a params <<<"$d_net"
    [ ${#params[@]} -gt 0 ] || params=('')
    [[ $d_net != *if=* ]] || return 0
    for i in "${!params[@]}"; do params[i]="if=lo${params[$i]:+ ${params[$i]}}"; done
}

# ---- the first tier ----

# Tests of tests/mp about what is above the DAT line.
is_above_dat() {
    case $1 in
    attr_* | coll_shm* | env_* | err_args_* | err_codes | err_handlers | group_* | init_attr_fn | init_cache | op_all | \
        io_basic | io_datarep | io_view | coll_errors | coll_nb_errors | neighbor_errors | old_names | session_* | status_set | tool_vars | \
        topo_* | type_contents | type_extent | type_external | type_f90) return 0 ;;
    esac
    return 1
}

# Tests of tests/dat about events and queues, not about bytes: one way of copying is enough.
moves_no_data() {
    case $1 in evd_overflow | evd_resize | many_eps | notify | rnr | slots | watermark) return 0 ;; esac
    return 1
}

# Tests of tests/mp and tests/dat that measure time or load, or are about busy hosts or cables that
# come back in time: nothing runs beside them.
runs_alone() {
    case $1 in
    net_cut | net_half | coll_shm_memory | coll_shm_wait | err_fatal* | finalize_soon | p2p_burst | p2p_flood | p2p_storm | p2p_wait | \
        progress_* | stock_spin | rma_dead_holder | rma_fair | rma_large | rma_late | rma_*no_cpu | rma_*stopped) return 0 ;;
    esac
    return 1
}

# Scripts that mostly wait, or start one thing after the other, and have seconds to spare.
script_shares() {
    case $1 in
    abi/* | binaries/* | dat/* | lang/* | slurm/*) return 0 ;;
    input/check | input/coll_algs | input/coll_file | input/conf | input/configure | input/conform | input/designs | \
        input/files | input/install | input/launch_* | input/lost | input/packages | input/refused | \
        input/report | input/reproduce | input/settings_random | input/tools) return 0 ;;
    hosts/conform | hosts/death | hosts/harness | hosts/input_network | hosts/jobs | hosts/launch | hosts/ssh) return 0 ;;
    esac
    return 1
}

# Tests of tests/dat and tests/mp that the first tier runs over libfabric's provider, too.
is_for_ofi() {
    case $1 in
    dat/connect | dat/ext | dat/in_flight | dat/net_closing | dat/net_conn | dat/rmr | dat/stale_key | \
        dat/transfer | dat/unsignalled | mp/coll_move | mp/p2p_errors | mp/p2p_limit | mp/rma_acc | \
        mp/rma_put_get) return 0 ;;
    esac
    return 1
}

# Tests of tests/mp that the first tier runs over strict providers, too.
is_for_strict() {
    case $1 in coll_random | p2p_fin | p2p_persist | p2p_random | p2p_srq | p2p_stress | rma_put_get) return 0 ;; esac
    return 1
}

# pick_providers NAME: leaves in list_prov those that are built and that this tier runs a test on.
pick_providers() {
    local prov kept=()
    for prov in "${list_prov[@]}"; do
        [ "$prov" != datum-ofi ] || { [ $full = yes ] || is_for_ofi "$1"; } || continue
        [[ " ${providers[*]} " == *" $prov "* ]] || [ "$prov" != datum-ofi ] || continue
        kept+=("$prov")
    done
    list_prov=("${kept[@]}")
}

# few_ranks: leaves in nps those of up to 4 ranks, if there are any of more than one.
few_ranks() {
    local np few=''
    for np in ${nps//,/ }; do [ "$np" -gt 4 ] || few=$few,$np; done
    [[ $few != *,[234]* ]] || nps=${few#,}
}

# mp_runs NAME PROVIDER...: "PROVIDER NP SETTING...", those of the product that this tier runs, to
# the array rows.
mp_runs() {
    local name=$1 usual=$2 is_above=no is_small=no prov np nps settings n_colls=0 i j n_others
    declare -A nth=()
    shift
    ! is_above_dat "$name" || is_above=yes
    [ $full = yes ] || [ $first = yes ] || is_small=yes
    combos "$d_cfg"
    [ $first = no ] || combined=("${combined[0]}")
    rows=()
    for ((i = 0; i < $#; i++)); do
        prov=${@:i+1:1} n_others=0 nps=$d_np
        # What more ranks add is above the DAT line: with few on the second provider.
        if [ $is_small = yes ] && [ "$prov" != "$usual" ]; then few_ranks; fi
        for settings in "${combined[@]}"; do
            # The alternatives of DATUM_COLL, in their order.
            j=0
            if [[ $settings =~ COLL=[^\ ]* ]]; then
                [ -n "${nth[$BASH_REMATCH]:-}" ] || nth[$BASH_REMATCH]=$((n_colls++))
                j=${nth[$BASH_REMATCH]}
            fi
            for np in ${nps//,/ }; do
                if [ $is_small = yes ]; then
                    # The messages of one rank do not leave it.
                    [ "$np" -gt 1 ] || [ "$prov" = "$usual" ] || continue
                    [ $is_above = no ] || [ "$prov" = "$usual" ] || [ $((n_others++)) = 0 ] || continue
                    # coll_algs.sh forces every algorithm: here one number of ranks, providers in turn.
                    [ $j = 0 ] || { [ "$np" = "${nps##*,}" ] && [ $i = $((j % $#)) ]; } || continue
                fi
                rows+=("$prov $np${settings:+ $settings}")
            done
        done
    done
    [ $is_small = no ] || [ ${#combined[@]} = 1 ] || pairwise
}

# Of the array rows those that cover each pair of values of two columns (pairwise covering array,
# greedy: always the first row with the most pairs that are not covered yet).
pairwise() {
    mapfile -t rows < <(printf '%s\n' "${rows[@]}" | awk '
    { for (i = 1; i <= NF; i++) value[NR, i] = $i; line[NR] = $0; n_columns = NF }
    function count(r, is_taken,    i, j, n, pair) {
        for (i = 1; i < n_columns; i++)
            for (j = i + 1; j <= n_columns; j++) {
                pair = i SUBSEP j SUBSEP value[r, i] SUBSEP value[r, j]
                if (!(pair in covered)) { n++; if (is_taken) covered[pair] = 1 }
            }
        return n
    }
    END {
        while (1) {
            best = most = 0
            for (r = 1; r <= NR; r++)
                if (!(r in taken) && (n = count(r)) > most) { most = n; best = r }
            if (!best) break
            taken[best] = 1
            count(best, 1)
        }
        for (r = 1; r <= NR; r++) if (r in taken) print line[r]
    }')
}
