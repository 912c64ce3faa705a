# reap ends every process that is doomed by the id $1, however it hides from its
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

# most is the brand of what Launch started; the id of a command is a number below it.
most=9007199254740992

# brand sets REPLY to the brand of the process $1: its hard limit of file locks, for
# which the kernel has no use. Every child inherits it, whatever it does to its
# environment, its session or its parents, and nobody can raise it. It is false for a
# process that has none.
brand() {
  local text= words
  IFS= read -r -d '' text <"/proc/$1/limits"
  [[ $text = *"Max file locks"* ]] || return
  words=(${text#*Max file locks})
  REPLY=${words[1]}
  [[ $REPLY != *[!0-9]* ]] && ((${#REPLY} <= ${#most} && REPLY <= most))
}

# branded says whether brands mean anything: where all of the machine has such a limit, or
# no process can get one, environments have to do.
branded() { ! brand "$BASHPID" || [ "$REPLY" = "$most" ]; }

# doomed says whether the process $1 is to end for the id $2, a pattern; + is the id of what
# Launch started. By its brand it has the id, or is a command's that does not run any more;
# without one its environment began with the id, or, where strict, with none of ours.
doomed() {
  local e env=() mine=$strict
  [ "$1" != 1 ] && [ "$1" != "$BASHPID" ] && [ -e "/proc/$1/exe" ] || return
  if [ -n "$brands" ] && brand "$1"; then
    if [ "$REPLY" = "$most" ]; then
      [ "$2" = + ]
    elif [[ $REPLY != $2 ]]; then
      [ "$2" != + ] && { [ ! -e "$S/$REPLY.on" ] || [ -e "$S/$REPLY.rc" ]; }
    fi
    return
  fi
  mapfile -d '' -t env <"/proc/$1/environ" || return
  for e in "${env[@]}"; do
    case $e in
      YUDAI_EXEC=$2) return 0 ;;
      YUDAI_EXEC=* | YUDAI_KEEP=1) mine= ;;
    esac
  done
  [ -n "$mine" ]
}

# launched says whether anything that Launch started runs, beside the process $1.
launched() {
  local f strict=
  for f in /proc/[0-9]*; do
    [ "${f#/proc/}" != "$1" ] && doomed "${f#/proc/}" + && return
  done
  return 1
}

# owned says whether the sandbox is the owner's whose token is $1.
owned() {
  local owner
  read -r owner <"$S/owner" && [ "$owner" = "$1" ]
}

# become becomes the command in $text, or in the file $p.sh, with the id $1 and the brand $2.
become() {
  hash env bash
  bash=${BASH_CMDS[bash]} env=${BASH_CMDS[env]} # a new PATH empties the table
  unset YUDAI_KEEP LC_ALL
  export YUDAI_EXEC=$1
  ulimit -x "$2"
  [ -n "$text" ] || . "$p.sh"
  eval "$text"
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

branded && brands=1 || brands=
