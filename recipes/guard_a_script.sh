#!/bin/sh
# Guarding a script you cannot change: what it writes and its exit code pass through, and it is paused, then stopped,
# before it takes the machine with it.
#
#   sh recipes/guard_a_script.sh python their_script.py --their-option
#
# 4 GiB stay free for everything else. A pause gives you two minutes to close the browser; then the script is told to end.
reserve=${RESERVE:-4G}
memwatch run --reserve "$reserve" --pause-timeout 120 -- "$@"
code=$?

case $code in
    124) echo "stopped for want of memory; what happened, and what to do:" >&2
         memwatch diagnose last >&2 ;;
    125) echo "memwatch itself failed; the script may not have run to its end" >&2 ;;
esac
exit $code
