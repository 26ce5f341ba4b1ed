# Shared by quickstart and check: a line per phase, packages, the build.
# Sourced with $src, the source directory, and $build, the build directory, set.

now() { date +%s; }
log=''
started=$(now)

phase_name='' phase_start=0
begin() {
    phase_name=$1 phase_start=$(now)
    [ ! -t 1 ] || printf '%-40s ...\r' "$1"
}
end() { printf '%-40s %s (%d s)\n' "$phase_name" "${1:-ok}" $(($(now) - phase_start)); }

# stop TEXT...: the phase failed; what it said, then what to do.
stop() {
    end FAILED
    [ -z "$log" ] || [ ! -s "$log" ] || { echo '---- last lines of its output'; tail -n 40 "$log"; echo '----'; }
    for line do printf '%s\n' "$line"; done
    exit 1
} >&2

open_log() {
    log=$(mktemp "${TMPDIR:-/tmp}/datum-log.XXXXXX") || exit 1
    trap 'rm -f "$log"' EXIT
    trap 'exit 130' INT TERM HUP
}

# packages NAME...: install those of them that are missing.
packages() {
    begin 'packages'
    if ! command -v dpkg-query >/dev/null 2>&1; then
        end 'not Debian: configure will say what is missing'
        return
    fi
    missing=''
    for p do
        case $(dpkg-query -W -f '${Status}' "$p" 2>/dev/null) in
        *'ok installed') ;;
        *) missing="$missing $p" ;;
        esac
    done
    if [ -z "$missing" ]; then
        end
        return
    fi
    sudo=''
    if [ "$(id -u)" != 0 ]; then
        sudo='sudo -n'
        if ! command -v sudo >/dev/null 2>&1; then
            stop 'packages are missing, and there is neither root nor sudo to install them.' \
                "As root: apt-get install$missing"
        fi
        # With a terminal sudo may ask for the password.
        [ ! -t 0 ] || sudo=sudo
        $sudo true || stop 'packages are missing, and sudo refuses to install them.' \
            "As root: apt-get install$missing"
    fi
    apt="$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -y"
    $apt update >"$log" 2>&1 || stop 'apt-get update failed: is there a network?'
    $apt install --no-install-recommends $missing >"$log" 2>&1 ||
        stop "apt-get could not install:$missing"
    end "installed:$missing"
}

# build TARGET...: configure if that was not done, and make.
build() {
    mkdir -p "$build" 2>"$log" || { begin build; stop "the directory $build cannot be written"; }
    begin configure
    # The configure that wrote the build directory is run again by make when it changes.
    if [ ! -f "$build/config.stamp" ]; then
        # Warnings are errors where they were all looked at: with Debian 12's gcc.
        werror=''
        case $(${CC:-gcc} -dumpversion 2>/dev/null) in
        12 | 12.*) werror=--enable-werror ;;
        esac
        case $build in
        "$src"/build) (cd "$build" && ../configure $werror) >"$log" 2>&1 ;;
        *) (cd "$build" && "$src/configure" $werror) >"$log" 2>&1 ;;
        esac || stop
    fi
    end
    begin build
    make -C "$build" -j"$(getconf _NPROCESSORS_ONLN)" "$@" >"$log" 2>&1 || stop
    end
}
