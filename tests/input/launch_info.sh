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
echo 'mine u2.0 nonthreadsafe default "/no/such/lib.so" mine.1.0 "" ""' >mine.conf
mkdir elsewhere
ln -s "$DATUM_BUILD/bin/datum-info" elsewhere/info
for tool in datum-info elsewhere/info "$DATUM_BUILD/bin/datum-info"; do
    check "built-in providers, $tool" says '^ +datum-shm +ok' env DAT_OVERRIDE="$PWD/mine.conf" "$tool" --providers
done
check_fails 'no such dat.conf' '/no/such/file' env DAT_OVERRIDE=/no/such/file datum-info
totals
