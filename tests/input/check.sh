#!/bin/sh
# test: timeout=240 san=no
# datum-check: its options and errors, a good provider, one that is broken in several ways (a
# library put before it), the JSON, and a server. san=no: sanitizers want to be loaded first.
. "$TEST_LIB"
broken=$TEST_SRC/tests/input/check_break.c
${CC:-cc} -D_GNU_SOURCE -shared -fPIC -O -o break.so "$broken" -ldat2 || fail "check_break.c does not compile"

# A line of the table: TITLE RESULT
row() { grep -Eq "^  $1 +$2" said || { cat said; return 1; }; }
break_it() {
    how=$1
    shift
    env "LD_PRELOAD=$PWD/break.so" "DM_BREAK=$how" "$@"
}

check 'help' says '--connect HOST' datum-check --help
check 'version' says '^Datum [0-9]' datum-check --version
check 'list' says '^  last_byte_last ' datum-check --list
all_told() {
    datum-check --list | awk '/^[a-z]/ { print $1 }' >probes
    [ -s probes ] || return 1
    while read -r probe; do
        grep -q "| \`$probe\` |" "$TEST_SRC/docs/TOOLS.md" || { echo "not there: $probe"; return 1; }
    done <probes
}
check 'docs/TOOLS.md has every probe' all_told
check 'no provider' status 2 'which provider' datum-check
check 'wrong option' status 2 'unknown option "--jsn"' datum-check --jsn datum-shm
check 'unknown provider' status 2 'no provider "no-such" in .*dat.conf; it has: datum-shm' \
    datum-check no-such
check 'unknown second provider' status 2 'no provider "no-such"' datum-check datum-shm no-such
check 'unknown probe' status 2 'no probe "late2"' datum-check --only late,late2 datum-shm
check 'wrong size' status 2 'from 4k to 1g' datum-check --max-size 2g datum-shm
check 'wrong size' status 2 'from 4k to 1g' datum-check --max-size 16mb datum-shm
check 'no such dat.conf' status 2 '/no/such' env DAT_OVERRIDE=/no/such datum-check datum-shm
check 'a wrong setting' status 2 'DATUM_RING_SLOTS' env DATUM_RING_SLOTS=many datum-check datum-shm
check '--server with two' status 2 'one provider at most' datum-check --server a b
check '--peer alone' status 2 'goes with --connect' datum-check --peer x datum-shm
printf 'ghost u2.0 nonthreadsafe default /nowhere/libghost.so g.1.0 "" ""\n' >ghost.conf
check 'a library that is not there' status 1 'cannot be checked: .*/nowhere/libghost.so' \
    env "DAT_OVERRIDE=$PWD/ghost.conf" datum-check ghost

# The good one, with everything.
check 'every probe' status 0 '^datum-shm: ' datum-check --max-size 1m datum-shm
cp said good
check 'nothing is broken' sh -c '! grep -E "BROKEN|no answer|in the other process: .*(wrong|no )" good'
for title in 'can be opened' 'thread-safe line' 'this host only' 'accepting side may send first' \
    'last byte last' 'last byte last, mapped memory' "writes without the target's calls" \
    "reads without the target's calls" "sends without the target's calls" \
    'write of nothing' 'a send waits for its receive' 'completions can be suppressed' \
    'full dispatchers are reported' 'maps shared memory' 'a child may execute programs' \
    'right data while a child lives' 'and does no harm'; do
    check "$title" row "$title" yes
done
for title in 'triplets free after the post' 'triplets unchanged by the provider'; do
    check "$title" row "$title" yes
done
check 'registration does not pin' row 'registration pins pages' no
check 'private data' row 'private data, request' '(256|384|512|1024) bytes'
check 'sizes' row 'largest write' '1 MiB'

# A strict one: every rule is found by trying.
for word in nonthreadsafe threadsafe; do
    echo "datum-shm u2.0 $word default $DATUM_BUILD/lib/libdatum_dapl_shm.so datum.0.1 \"strict=yes\" \"\""
done >strict.conf
check 'a strict provider' status 0 '^datum-shm: ' \
    env "DAT_OVERRIDE=$PWD/strict.conf" datum-check --only first,owner,order datum-shm
for title in 'accepting side may send first' 'triplets free after the post' \
    'triplets unchanged by the provider' 'completed before the peer can answer' 'last byte last'; do
    check "strict: $title" row "$title" no
done
sed 's/strict=yes/strict=much/' strict.conf >much.conf
check_fails 'an unknown rule' 'strict=much.*iov, first, last and events' \
    env "DAT_OVERRIDE=$PWD/much.conf" datum-info --providers

# JSON
if command -v python3 >/dev/null; then
    datum-check --json --only open,order,late datum-shm >one.json 2>err
    cat >schema.py <<'END'
import json, sys
lines = open(sys.argv[1]).read().splitlines()
assert len(lines) == int(sys.argv[2]), lines
for line in lines:
    top = json.loads(line)
    assert top["format"] == 1 and top["provider"] and top["error"] is None
    for name, probe in top["probes"].items():
        assert probe["end"] in ("ok", "refused", "broken"), probe
        for key, item in probe["items"].items():
            assert item["result"] in ("yes", "no", "value", "not tested"), item
            assert ("value" in item) == (item["result"] == "value"), item
            assert isinstance(item["detail"], str)
assert set(top["probes"]) == set(sys.argv[3].split(",")), top["probes"].keys()
END
    check 'JSON' python3 schema.py one.json 1 open,order,late
    datum-check --json --only late datum-shm datum-shm >two.json
    check 'one object for each' python3 schema.py two.json 2 late
    env "DAT_OVERRIDE=$PWD/ghost.conf" datum-check --json ghost >ghost.json
    check 'JSON of an error' sh -c \
        'python3 -c "import json; assert \"ghost\" in json.load(open(\"ghost.json\"))[\"error\"]"'
else
    skip_one 'the JSON: python3 is not there'
fi

# Bad ones
check 'a wrong order is seen' break_it order datum-check --only order datum-shm
break_it order datum-check --only order datum-shm >said 2>&1
check 'a wrong order is named' row 'last byte last' 'no .*writes were seen unfinished'
check 'and what to do' grep -q 'DATUM_EAGER=sendrecv' said
check 'a crash' status 1 'BROKEN in the probe "order": the active process was killed by signal 11' \
    break_it crash datum-check --only order,late datum-shm
check 'the next probe runs' row 'a send waits for its receive' yes
check 'a hang' status 1 'BROKEN in the probe "srq": no end within' \
    break_it hang datum-check --only srq datum-shm
check 'a crash at open' status 1 'cannot be checked: the probing process was killed by signal 11' \
    break_it open datum-check datum-shm

# Between "hosts"
datum-check --server --port 0 >server.out 2>&1 & # any port that is free
server=$!
trap 'kill $server 2>/dev/null' EXIT
i=0
while [ $i -lt 100 ] && ! grep -q serving server.out; do
    sleep 0.1
    i=$((i + 1))
done
port=$(sed -n 's/^datum-check: serving port //p' server.out)
check 'with a server' status 0 '^datum-shm: .*, with 127.0.0.1$' datum-check --connect 127.0.0.1 \
    --port $port --only order,late,sizes,private,latency --max-size 64k datum-shm
check 'its order' row 'last byte last' yes
check 'its sizes' row 'largest read' '64 KiB'
check 'a name that it does not know' says 'no provider "no-such"' datum-check --connect 127.0.0.1 \
    --port $port --peer no-such --only late datum-shm
unreached() { # PATTERN OPTION...: status 2, and nothing but that line
    pattern=$1
    shift
    status 2 "$pattern" datum-check "$@" && [ "$(wc -l <said)" = 1 ] || { cat said; return 1; }
}
check 'a port in use' status 2 'cannot be listened on' datum-check --server --port $port
if command -v python3 >/dev/null; then
    cat >rude.py <<'END'
import socket, sys
for text in (b"", b"\n", b"GET / HTTP/1.0\r\n\r\n", b"datum-check 1 datum-shm nothing 5\n",
             b"datum-check 1 datum-shm late 99999999999999999999\n", b"x" * 100000,
             b"datum-check 1 datum-shm late 4096\n" + bytes(range(256)) * 50):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    try:
        s.sendall(text)
        s.shutdown(socket.SHUT_WR)
        s.settimeout(10)
        while s.recv(4096):
            pass
    except socket.timeout:
        raise # it must not keep anybody waiting
    except OSError:
        pass
END
    check 'rude clients' timeout 60 python3 rude.py $port
    check 'it serves on' status 0 'datum-shm' datum-check --connect 127.0.0.1 --port $port \
        --only late datum-shm
fi
kill $server
wait $server 2>/dev/null
check 'without a server' unreached '127.0.0.1 port [0-9]*: .*is "datum-check --server" running there' \
    --connect 127.0.0.1 --port $port --only late datum-shm
check 'a host that is not there' unreached '^datum-check: no.such.host: ' --connect no.such.host datum-shm datum-shm
if command -v python3 >/dev/null; then
    check 'the same in JSON' status 2 '"error": "no.such.host: ' datum-check --json --connect no.such.host datum-shm
    datum-check --json --connect no.such.host datum-shm >unreached.json 2>err
    check 'JSON of that' python3 -c 'import json; top = json.load(open("unreached.json"))
assert "no.such.host" in top["error"] and top["probes"] == {} and top["peer"] == "no.such.host", top'
fi
totals
