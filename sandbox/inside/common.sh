# reap ends every process that is doomed by the marker $1, however it hides from its
# process group. It starts no process: there may be no room for one. What it finds it
# stops first, and kills when nothing new is found: what is stopped cannot fork, and
# keeps its place taken. Before that it looks again: a process that is just becoming
# another program has no environment for a moment.
reap() {
  local f pid new i held=() dead=()
  local -A known=()
  for ((i = 0; i < 200; i++)); do
    new=
    for f in /proc/[0-9]*; do
      pid=${f#/proc/}
      [ -z "${known[$pid]}" ] && doomed "$pid" "$1" && kill -STOP "$pid" && new=1 known[$pid]=1 held+=("$pid")
    done
    [ -n "$new" ] || break
  done
  for pid in "${held[@]}"; do
    settled "$pid"
    if doomed "$pid" "$1"; then
      kill -KILL "$pid" && dead+=("$pid")
    else
      kill -CONT "$pid"
    fi
  done
  for ((i = 0; i < 200; i++)); do
    new=
    for pid in "${dead[@]}"; do [ ! -e "/proc/$pid/exe" ] || new=1; done
    [ -n "$new" ] || return
  done
}

# doomed says whether the process $1 is to end: its environment began with the marker
# $2, a pattern, or, where strict, with none of ours.
doomed() {
  local e env=() mine=$strict
  [ "$1" != 1 ] && [ -e "/proc/$1/exe" ] && mapfile -d '' -t env <"/proc/$1/environ" || return
  for e in "${env[@]}"; do
    case $e in
      YUDAI_EXEC=$2) return 0 ;;
      YUDAI_EXEC=* | YUDAI_KEEP=1) mine= ;;
    esac
  done
  [ -n "$mine" ]
}

# settled waits until a process that got SIGSTOP has stopped, or is gone.
settled() {
  local line i
  for ((i = 0; i < 500; i++)); do
    read -r line <"/proc/$1/stat" || return
    line=${line##*) }
    case ${line%% *} in [TtZX]) return ;; esac
  done
}

# nap waits for some seconds without a process.
nap() { read -r -t "$1" <> <(:); }

# ooms sets REPLY to how many processes were killed for want of memory; $1 says where
# the kernel counts: cgroup, vmstat.
ooms() {
  local k v f=
  case $1 in
    vmstat) f=/proc/vmstat ;;
    cgroup) for f in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do [ -r "$f" ] && break; done ;;
  esac
  REPLY=0
  [ -r "$f" ] && while read -r k v; do [ "$k" != oom_kill ] || REPLY=$v; done <"$f"
}
