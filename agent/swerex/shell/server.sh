# The server of the shells: it outlives the calls and starts, interrupts and ends
# shells for them. Arguments:
#   1 directory     2 most bytes kept of a command's output     3 the tree
# Requests are files in q: "verb shell [number]". Pipes only make things quick: they are
# looked at again anyway, since a pipe may not be the same one for every process.
dir=$1 most=$2 tree=$3
cd "$dir" || exit 1
exec </dev/null >/dev/null 2>&1
trap : HUP INT TERM
mkdir -p q
[ -p ctl ] || mkfifo ctl
exec 9<>ctl
set -m # every shell has a process group of its own
declare -A group input shell before

# tell wakes whoever waits for a command. Each has a pipe of its own: of two who read
# the same one, one would be left waiting.
tell() {
  local f
  for f in s*/*.wake.*; do
    [ ! -p "$f" ] || echo 1<>"$f"
  done
}

# open_shell starts the shell $1, a real one: state stays in its process. It is
# interactive, so that an interrupt ends a whole command and not the shell, and has no
# terminal.
open_shell() {
  local s=$1 fd
  mkdir -p "$s"
  mkfifo "$s/in"
  cat >"$s/rc" <<END
echo \$\$ >'$dir/$s/pid'
set +H +o history
PS1= PS2= PS0=
unset HISTFILE PROMPT_COMMAND
cd '$tree'
END
  exec {fd}<>"$s/in"
  {
    exec 9>&-
    set +m
    trap : INT
    bash --noprofile --rcfile "$dir/$s/rc" --noediting -i <&"$fd" {fd}>&-
    echo "$?" >"$s/dead"
    echo 1<>ctl
  } &
  group[$s]=$! input[$s]=$fd
}

# collect keeps what a command prints, up to the limit, and makes it wait for nobody.
collect() {
  exec 9>&-
  {
    (
      ulimit -c 0 -f $(((most + 1023) / 1024)) # in KiB; it ends the cat that comes to it
      exec cat >"$1.out"
    ) || cat >/dev/null
  } <"$1.pipe"
  : >"$1.end"
  echo 1<>ctl
}

# run_command gives the shell $1 its command $2.
run_command() {
  local p=$dir/$1/$2
  [ ! -e "$1/dead" ] || return
  mkfifo "$1/$2.pipe"
  [ -n "${shell[$1]}" ] || read -r "shell[$1]" <"$1/pid"
  children "${shell[$1]}"
  before[$1]=$REPLY
  collect "$1/$2" &
  printf '%s\n' ". '$p.sh' <>/dev/null >'$p.pipe' 2>&1" "builtin printf '%s\n' \"\$?\" >|'$p.rc'; builtin echo 1<>'$dir/ctl'" >&"${input[$1]}"
}

# children sets REPLY to the processes that the process $1 started itself.
children() {
  local line f
  REPLY=
  if [ -e "/proc/$1/task/$1/children" ]; then
    read -r REPLY <"/proc/$1/task/$1/children"
    return
  fi
  for f in /proc/[0-9]*/stat; do # a kernel that does not keep the list
    read -r line <"$f" || continue
    line=${line##*) }
    line=${line#* }
    f=${f#/proc/}
    [ "${line%% *}" != "$1" ] || REPLY+=" ${f%/stat}"
  done
}

# kill_tree kills a process and what it started. It is stopped first, so that it starts
# nothing more meanwhile.
kill_tree() {
  local pid
  kill -STOP "$1"
  children "$1"
  for pid in $REPLY; do kill_tree "$pid"; done
  kill -KILL "$1"
}

# kill_command kills what the shell $1 started for its command, however deaf.
kill_command() {
  local pid
  children "${shell[$1]}"
  for pid in $REPLY; do
    [[ " ${before[$1]} " == *" $pid "* ]] || kill_tree "$pid"
  done
}

# close_shell ends the shell $1 and what it started in its process group.
close_shell() {
  local fd=${input[$1]}
  kill -KILL -- "-${group[$1]}"
  exec {fd}>&-
  unset "group[$1]" "input[$1]" "shell[$1]" "before[$1]"
  rm -rf "$1" || rm -rf "$1" # something was being written
}

# request does what a file in q asks for.
request() {
  case $1 in
    open) open_shell "$2" ;;
    run) run_command "$2" "$3" ;;
    interrupt) kill -INT -- "-${group[$2]}" ;;
    kill) kill_command "$2" ;;
    close) close_shell "$2" ;;
  esac
}

echo $$ >ready
while :; do
  for f in q/*; do
    [ -f "$f" ] && read -r verb s n <"$f" || continue
    rm -f "$f"
    request "$verb" "$s" "$n"
  done
  if read -r -t 0.1 -u 9 _; then tell; fi
done
