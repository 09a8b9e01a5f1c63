#!/bin/sh
# Guard a script that you cannot change. Its output and its exit code pass through. memwatch pauses it, then stops it,
# before it freezes the machine.
#
#   sh recipes/guard_a_script.sh python their_script.py --their-option
#
# 4 GiB stay free for other programs. A pause lasts at most two minutes, time to close the browser; then memwatch stops
# the script (SIGTERM).
reserve=${RESERVE:-4G}
memwatch run --reserve "$reserve" --pause-timeout 120 -- "$@"
code=$?

case $code in
    124) echo "stopped to protect the machine's memory; the diagnosis:" >&2
         memwatch diagnose last >&2 ;;
    125) echo "memwatch itself failed; the script may be incomplete" >&2 ;;
esac
exit $code
