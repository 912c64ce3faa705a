# Makes our places in a new machine, or in a copy of one. Arguments:
#   1 our directory    2 token of the owner    3 user of the commands, or empty
#   4 where the kernel counts what it kills
S=$1 user=$3
missing=
for program in git tail cat stat grep timeout realpath mktemp chmod mv rm tar; do
  type -P "$program" >/dev/null || missing+=" $program"
done
((BASH_VERSINFO[0] >= 5)) || missing+=" bash-5"
if [ -n "$missing" ]; then
  echo "$missing"
  exit 90
fi
rm -rf "$S" && mkdir -p "$S" /workspace/repo /workspace/home /workspace/keep || exit 91
chmod 700 "$S"
echo "$2" >"$S/owner" || exit 91
oom=0
case $4 in
  vmstat) f=/proc/vmstat ;;
  *) for f in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do [ -r "$f" ] && break; done ;;
esac
[ -r "$f" ] && while read -r k v; do [ "$k" != oom_kill ] || oom=$v; done <"$f"
echo "$oom" >"$S/oom" || exit 91
if [ -n "$user" ]; then
  chown "$user" /workspace /workspace/repo /workspace/home /workspace/keep && chown -R "$user" "$S" || exit 91
fi
exit 0
