#!/bin/bash
# Runs once when the template is built, before its memory is frozen: the programs that
# every sandbox uses are read in, so that a new one need not fetch them from a disk.
rm -f /tmp/.yudai-warm
for program in git bash tar tail grep setsid timeout realpath node npm python3 go cargo; do
  "$program" --version >/dev/null 2>&1 || "$program" version >/dev/null 2>&1
done
git init -q /tmp/.yudai-warm-repo && git -C /tmp/.yudai-warm-repo status >/dev/null
rm -rf /tmp/.yudai-warm-repo
: >/tmp/.yudai-warm
