# The launcher: starts one command unless it was started before, and shows its
# output from where the reader is. Arguments:
#   1 prefix of the command's files; its directory is ours, its last part the id
#   2 token of the owner          3 strict: 1, or empty
#   4 streams that are kept: one (both as one), both, out, err, none
#   5 most bytes kept of each     6 seconds it may take, with three decimals; 0 for ever
#   7 bytes of stdout seen        8 bytes of stderr seen
#   9 where the kernel counts what it kills: cgroup, vmstat
#  10 ids whose files may go     11 text of the command; empty: it is in a file
# Exit code: the command's; or 250: see the file rc; 251: the sandbox has another
# owner; 252: its disk is full; 253: never started, or its keeper was killed.
p=$1 token=$2 strict=$3 kept=$4 max=$5 limit=$6 o=$7 e=$8 counts=$9 old=${10} text=${11}
S=${p%/*} id=${p##*/}

# spool writes what comes to a file, up to the limit (in whole KiB), and makes nobody wait.
spool() {
  local blocks=$(((max + 1023) / 1024))
  ulimit -f "$blocks"
  cat >"$1" && return
  (($(stat -c %s "$1") >= blocks * 1024)) || : >"$p.full"
  exec cat >/dev/null
}

# open_streams opens 9 and 3, the command's stdout and stderr, and sets spools to the
# processes that write what comes.
open_streams() {
  spools=
  exec 9>/dev/null 3>/dev/null
  case $kept in one | both | out)
    exec 9> >(exec 6>&-; spool "$p.out")
    spools=$! ;;
  esac
  case $kept in
    both | err)
      exec 3> >(exec 6>&- 9>&-; spool "$p.err")
      spools+=" $!" ;;
    one) exec 3>&9 ;;
  esac
}

# run_command becomes the command.
run_command() {
  local in=/dev/null
  [ ! -e "$p.in" ] || in=$p.in
  hash timeout
  [ "$limit" = 0 ] || within=("${BASH_CMDS[timeout]}" --foreground -s KILL "$limit")
  exec <"$in" >&9 2>&3 3>&- 5>&- 6>&- 9>&-
  become "$id" "$id"
}

# spooled waits for the spools, so many milliseconds: whoever still has
# the pipe is not waited for longer.
spooled() {
  local spool n=$1
  for spool in $spools; do
    while kill -0 "$spool" && ((n-- > 0)); do read -r -t 0.001 -u 5 _; done
  done
}

# alone tells, without a process, that a short command has left none behind: those
# that began after the launcher are the keeper only. A number of processes that
# short a time does not bring forth would have to pass for numbers to begin again.
alone() {
  local d last
  ((took < 200000)) && read -r _ _ _ _ last </proc/loadavg && ((last > $$)) || return
  for d in /proc/[0-9]*; do
    d=${d#/proc/}
    ((d <= $$ || d == BASHPID)) || return
  done
}

# show prints a file from an offset; a small text without a process.
show() {
  local text
  [ -s "$1" ] || return
  if [ "$2" = 0 ] && ! IFS= read -r -d '' -n 65536 text <"$1"; then
    printf %s "$text"
  else
    tail -c "+$(($2 + 1))" "$1"
  fi
}

# keep runs the command and writes down how it ended; its own stdout is open as long
# as it lives, and nothing ever comes from it.
keep() {
  exec 6>&1 4>&- </dev/null >/dev/null 2>&1
  exec 5</dev/fd/6
  trap : HUP INT TERM PIPE
  local rc flags= before=0 began=${EPOCHREALTIME/[.,]/} took spools spool
  : >"$p.out"
  : >"$p.err"
  echo "$BASHPID" >"$p.pid"
  open_streams
  set -m # a process group of its own: "kill 0" is the command's affair
  (run_command) &
  set +m
  local cmd=$!
  exec 3>&- 9>&-
  wait "$cmd"; rc=$?
  while kill -0 "$cmd"; do wait "$cmd"; rc=$?; done
  took=$((${EPOCHREALTIME/[.,]/} - began))
  spooled 20
  alone || reap "$id"
  spooled 2000
  if [ "$rc" != 0 ]; then
    ooms "$counts"
    read -r before <"$S/oom"
    if ((REPLY > before)); then
      flags=" oom"
      echo "$REPLY" >"$S/oom"
    fi
    if [ "$rc" = 137 ] && [ "$limit" != 0 ] && ((took >= 10#${limit/./} * 1000)); then flags+=" timeout"; fi
  fi
  [ ! -e "$p.full" ] || flags+=" full"
  echo "$rc$flags" >"$p.rc"
}

LC_ALL=C # counts are of bytes
exec 4>&2 2>/dev/null
owned "$token" || exit 251
set -C
if : >"$p.on"; then
  set +C
  for f in $old; do rm -f "$S/$f".*; done
  exec {kept_by}< <(keep)
  read -r -t 0.15 -u "$kept_by" _ # most commands are over at once and need no follower
else
  set +C
  [ -e "$p.on" ] || exit 252
fi
for _ in {1..40}; do # the keeper may not have come to its notes yet
  [ ! -s "$p.pid" ] && [ ! -e "$p.rc" ] || break
  nap 0.05
done
if [ -s "$p.rc" ]; then
  show "$p.out" "$o"
  show "$p.err" "$e" >&4
else
  [ -s "$p.pid" ] || { [ -e "$p.pid" ] && exit 252; exit 253; } # a file and nothing in it: no room
  read -r pid <"$p.pid"
  tail -c "+$((o + 1))" -f -s 0.05 --pid="$pid" "$p.out" &
  [ "$kept" != both ] && [ "$kept" != err ] || tail -c "+$((e + 1))" -f -s 0.05 --pid="$pid" "$p.err" >&4 &
  wait
  [ -e "$p.rc" ] || exit 253
fi
owned "$token" || exit 251 # it may have ended by a new owner's hand
read -r rc flags <"$p.rc"
[ -n "$rc" ] || exit 252
[ -z "$flags" ] && ((rc < 250 || rc > 253)) || exit 250
exit "$rc"
