#!/bin/sh
# report_browser.sh TESTS : lets the test program write a report, opens it in headless Chromium, and requires that every
# chart is drawn, that hover, legend, sorting and buttons work, and that the console stays empty. Exit 77: no Chromium.
set -eu
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ]; then
  echo "quench-skip: no chromium here"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
QUENCH_REPORT_PAGE="$work/report.html" "$1" "the page for the browser test*" > "$work/tests.log" || { cat "$work/tests.log"; exit 1; }
[ -s "$work/report.html" ] || { echo "the test program wrote no page"; exit 1; }
HOME="$work" timeout 90 "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
  --disable-dev-shm-usage --user-data-dir="$work/profile" --window-size=1200,2400 --enable-logging=stderr --v=0 \
  --virtual-time-budget=8000 --dump-dom "file://$work/report.html" > "$work/page" 2> "$work/log" || { cat "$work/log"; exit 1; }
grep -o '<pre id="probe">[^<]*' "$work/page" || echo "the page's script did not finish"
if grep ':CONSOLE' "$work/log"; then
  echo "the console is not empty"
  exit 1
fi
grep -q '<pre id="probe">charts-drawn' "$work/page"
