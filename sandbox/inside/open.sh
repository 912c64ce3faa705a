# Makes our places in a new machine, or in a copy of one. Arguments:
#   1 our directory    2 token of the owner    3 user of the commands, or empty
#   4 where the kernel counts what it kills
S=$1 user=$3
missing=
for program in git tail cat stat env timeout realpath mktemp chmod mv rm tar; do
  type -P "$program" >/dev/null || missing+=" $program"
done
((BASH_VERSINFO[0] >= 5)) || missing+=" bash-5"
if [ -n "$missing" ]; then
  echo "$missing"
  exit 90
fi
rm -rf "$S" && mkdir -p "$S/launched" /workspace/repo /workspace/home /workspace/keep || exit 91
chmod 700 "$S"
echo "$2" >"$S/owner" || exit 91
ooms "$4"
echo "$REPLY" >"$S/oom" || exit 91
if [ -n "$user" ]; then
  chown "$user" /workspace /workspace/repo /workspace/home /workspace/keep && chown -R "$user" "$S" || exit 91
fi
exit 0
