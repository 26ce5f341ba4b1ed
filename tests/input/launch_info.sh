#!/bin/sh
# test: timeout=60
# datum-info.
. "$TEST_LIB"

all_settings() {
    datum-info --settings | awk '$1 ~ /^DATUM_/ { print $1 }' | LC_ALL=C sort >names
    datum-info --markdown | awk -F'`' '/^[|] `DATUM_.*[|].*[|].*[|].*[|]/ { print $2 }' | LC_ALL=C sort >rows
    [ -s names ] && diff names rows
}
check '--markdown has every setting' all_settings
check 'docs/TUNING.md names settings that there are' sh -c \
    'grep -o "DATUM_[A-Z][A-Z_]*" "$TEST_SRC/docs/TUNING.md" | LC_ALL=C sort -u | comm -23 - names | grep . && exit 1 || true'
check '--version' says '^Datum [0-9]' datum-info --version
check '--help' says '--providers' datum-info --help
check 'default settings' says 'DATUM_RING_SLOTS +64 +default' datum-info --settings
check 'origin of a setting' says 'DATUM_RING_SLOTS +8 +environment' \
    env DATUM_RING_SLOTS=8 datum-info --settings
check 'unknown name' says 'DATUM_RINGSLOTS.*did you mean DATUM_RING_SLOTS' \
    env DATUM_RINGSLOTS=8 datum-info --settings
check_fails 'wrong value' 'DATUM_RING_SLOTS is .many.*whole number' \
    env DATUM_RING_SLOTS=many datum-info
for tool in datum-info 'datum-info --markdown' 'datum-check --list'; do
    check "no room for what $tool says" status 1 'standard output cannot be written: No space' sh -c "$tool >/dev/full"
done
check 'wrong option' status 2 'unknown option "--setting"' datum-info --setting
check 'host' says 'cores to use +[1-9]' datum-info --host
check 'providers' says '^ +datum-shm +ok' datum-info --providers
check 'providers without DAT_OVERRIDE' says "Providers of $DATUM_BUILD/etc/dat.conf" \
    env -u DAT_OVERRIDE datum-info --providers
# Called by its name, through a link, by its path: what is built in stands beside the user's.
echo 'broken u2.0 nonthreadsafe default "/no/such/lib.so" mine.1.0 "" ""' >mine.conf
sed -n 's/^datum-shm /mine /p' "$DATUM_BUILD/etc/dat.conf" >>mine.conf
mkdir elsewhere
ln -s "$DATUM_BUILD/bin/datum-info" elsewhere/info
for tool in datum-info elsewhere/info "$DATUM_BUILD/bin/datum-info"; do
    check "built-in providers, $tool" says '^ +datum-shm +ok' env DAT_OVERRIDE="$PWD/mine.conf" "$tool" --providers
done
check_fails 'no such dat.conf' '/no/such/file' env DAT_OVERRIDE=/no/such/file datum-info
# The same as JSON.
json() { # EXPRESSION OPTION...: true of the object "r"
    expression=$1
    shift
    datum-info --json "$@" >out.json && python3 -c 'import json, sys; r = json.load(open("out.json")); sys.exit(not eval(sys.argv[1]))' "$expression"
}
if command -v python3 >/dev/null; then
    check 'all of it' json '{"format", "version", "build", "settings", "host", "providers"} <= r.keys()'
    check 'settings' json '[(x["value"], x["origin"]) for x in r["settings"] if x["name"] == "DATUM_RING_SLOTS"] == [("64", "default")]' --settings
    check 'and no other part' json 'r.keys() == {"format", "version", "settings"}' --settings
    check 'host' json 'int(r["host"]["cores to use"]) > 0' --host
    check 'providers' json '[x["usable"] for x in r["providers"] if x["name"] == "datum-shm"] == [True]' --providers
    check 'usable ones' json '"datum-shm" in [x["name"] for x in r["usable"]]' --usable
    check 'algorithms' json '{"collective": "bcast", "algorithm": "binomial", "needs": ""} in r["coll_algorithms"]' --coll-algorithms
    check 'a file' json 'r["file"]["one range"] == "one system call"' --file .
    printf '"a\"\001\303\244" u2.0 nonthreadsafe default "/no/such/lib.so" mine.1.0 "" ""\n' >mine.conf
    check 'an odd name' env DAT_OVERRIDE="$PWD/mine.conf" sh -c 'datum-info --json --providers >odd.json; python3 -m json.tool odd.json'
    check 'a wrong setting is no object' sh -c '! DATUM_RING_SLOTS=many datum-info --json >none.json && test ! -s none.json'
else
    skip_one 'the JSON: python3 is not there'
fi
totals
