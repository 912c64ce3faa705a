#!/bin/bash
# Says whether the template can be frozen: start.sh is through, and nothing is missing
# that yudai needs. A template that is never ready fails with what this prints.
for program in git tail dd grep setsid timeout realpath mktemp chmod mv rm tar; do
  type -P "$program" >/dev/null || { echo "$program is missing" >&2; exit 1; }
done
((BASH_VERSINFO[0] >= 5)) || { echo "bash is older than 5" >&2; exit 1; }
[ -d /workspace ] && [ -e /tmp/.yudai-warm ]
