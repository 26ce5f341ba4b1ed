#!/bin/bash
# test: timeout=900 san=no
# The page of datum-compare in headless Chromium: no script errors, nothing from outside, all plots drawn and not empty, no
# sideways scrolling at 400 and 1000 pixels, text that can be read at 400, and it prints.
. "$TEST_LIB"
need python3 python3
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    skip 'no Chromium to look at the page with (package chromium)'

chrome() {
    mkdir -p profile/tmp
    TMPDIR=$PWD/profile/tmp timeout 250 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files \
        --user-data-dir="$PWD/profile" --enable-logging=stderr --virtual-time-budget=5000 "$@" 2>>browser.err
}
if [ -n "${COMPARE_REPORT:-}" ]; then
    cp "$COMPARE_REPORT/report.html" report.html || fail "no report in $COMPARE_REPORT"
else
    datum-compare --output cmp --quick --test latency,bw,put,barrier --size 8:64 --providers datum-shm --peer none >said 2>&1 ||
        { cat said; fail 'datum-compare'; }
    cp cmp/report.html report.html
fi

# The page with a probe behind it, which tells what the browser has made of it.
awk '{ print }
    /<\/body>/ && !done++ { print "<script src=\"probe.js\"></script>" }' report.html >probed.html
cat >probe.js <<'END'
const errors = [];
window.addEventListener('error', e => errors.push(String(e.message)));
window.addEventListener('load', () => {
    const plots = [...document.querySelectorAll('figure svg')];
    const seen = plots.map(svg => {
        const box = svg.getBoundingClientRect();
        const scale = box.width / svg.viewBox.baseVal.width;
        const sizes = [...svg.querySelectorAll('text')].map(
            t => parseFloat(getComputedStyle(t).fontSize) * scale);
        const curves = [...svg.querySelectorAll('path')].filter(p => p.getTotalLength() > 20).length;
        return { width: box.width, height: box.height, least: Math.min(...sizes), curves };
    });
    const wide = [...document.querySelectorAll('body > *')].filter(
        e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).length;
    parent.postMessage({
        errors, wide, plots: plots.length,
        captions: document.querySelectorAll('figcaption').length,
        empty: seen.filter(s => s.width < 200 || s.height < 100 || s.curves < 3).length,
        least_text: Math.min(99, ...seen.map(s => s.least)),
        body_text: parseFloat(getComputedStyle(document.body).fontSize),
        sideways: document.documentElement.scrollWidth - document.documentElement.clientWidth,
        tables: document.querySelectorAll('table').length,
    }, '*');
});
END
look() { # WIDTH: the probe's answer, in answer.WIDTH
    cat >frame.html <<END
<!DOCTYPE html><html><body><iframe src="probed.html" style="width:$1px;height:3000px;border:0"></iframe>
<pre id="answer"></pre><script>
window.addEventListener('message', e => { document.getElementById('answer').textContent = JSON.stringify(e.data) })
</script></body></html>
END
    chrome --dump-dom "file://$PWD/frame.html" | sed -n 's/.*<pre id="answer">\(.*\)<\/pre>.*/\1/p' >"answer.$1"
    [ -s "answer.$1" ] || { tail -5 browser.err; return 1; }
}
# is WIDTH KEY LOW HIGH: the answer's number is within
is() {
    value=$(sed -n "s/.*\"$2\":\(-\{0,1\}[0-9.]*\).*/\1/p" "answer.$1")
    awk -v v="$value" -v low="$3" -v high="$4" 'BEGIN { exit !(v != "" && v >= low && v <= high) }' && return 0
    echo "$2 is ${value:-not there}, not from $3 to $4"
    cat "answer.$1"
    return 1
}
n_plots=$(grep -c '<figure>' report.html)
for width in 400 1000; do
    check "the page at $width pixels" look $width
    check "$width: no errors" grep -q '"errors":\[\]' answer.$width
    check "$width: all plots" is $width plots "$n_plots" "$n_plots"
    check "$width: there are some" is $width plots 4 99
    check "$width: none is empty" is $width empty 0 0
    check "$width: no sideways scrolling" is $width sideways 0 0
    check "$width: nothing sticks out" is $width wide 0 0
    check "$width: text in plots can be read" is $width least_text 8.5 40
    check "$width: text can be read" is $width body_text 14 20
done
check 'the browser has nothing to say of the page' sh -c '! grep -E "CONSOLE|Uncaught" browser.err'
prints() {
    chrome --print-to-pdf="$PWD/page.pdf" "file://$PWD/report.html" && [ "$(head -c 5 page.pdf)" = %PDF- ]
}
check 'it prints' prints
# That the probe can see a fault: a page with an element that is too wide, an error and an empty plot.
sed 's|<h1>|<div style="width:5000px">wide</div><figure><figcaption>x</figcaption><svg viewBox="0 0 9 9"></svg></figure><h1>|' \
    probed.html >bad.html
sed -i 's|<script src="probe.js"></script>|<script src="probe.js"></script><script>nothing_like_this()</script>|' bad.html
mv bad.html probed.html
check 'a bad page' look 400
check_fails 'it scrolls sideways' 'sideways is' is 400 sideways 0 0
check_fails 'it has an empty plot' 'empty is' is 400 empty 0 0
check 'it has an error' grep -q 'errors.*nothing_like_this' answer.400
rm -rf profile cmp
totals
