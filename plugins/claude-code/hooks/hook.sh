#!/bin/sh
# Calls `reveille hook`. Without Reveille there is nothing to say. A program that is too old for this plugin ends with 2,
# which would hold the chat: it must not.
program=${REVEILLE_COMMAND:-reveille}
command -v "$program" >/dev/null 2>&1 || exit 0
"$program" hook "$1"
code=$?
[ "$code" -eq 2 ] && exit 1
exit "$code"
