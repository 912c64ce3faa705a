# One call of the endpoint. Arguments:
#   1 directory     2 verb     3 shell     4 number of the command
#   5 milliseconds to wait
# Verbs: open; run (the command is the input); wait; interrupt; kill; close. The first line of stderr is what became of it: done with the exit
# code, running, dead with the shell's exit code, over (another call saw its end), syntax,
# gone, lost; stdout is the output.
dir=$1 verb=$2 s=$3 n=$4 patience=$5
p=$s/$n

say() { echo "$*" >&2; }

# ask gives the shell server a request; files appear whole, because they are moved.
ask() {
  echo "$*" >"q.$verb.$s.$n"
  mv "q.$verb.$s.$n" "q/$(printf %09d "$n").$verb.$s"
  echo 1<>ctl
}

# nap waits for some seconds without a process, or for a wake-up.
nap() { read -r -t "$1" -u 8 _; }

now() { REPLY=${EPOCHREALTIME/[.,]/}; }

show() { [ ! -e "$p.out" ] || cat "$p.out"; }

# drain waits until what is left in the pipe is written down. A process in the
# background may hold the pipe; it is not waited for.
drain() {
  local i
  for i in {1..50}; do
    [ ! -e "$p.end" ] || return
    nap 0.01
  done
}

# await waits for the command's end.
await() {
  local end code wake=$p.wake.$$.$RANDOM$RANDOM
  mkfifo "$wake" 2>/dev/null || { say over; return; } # the shell was closed meanwhile
  exec 8<>"$wake"
  now
  end=$((REPLY + patience * 1000))
  while :; do
    if [ -s "$p.rc" ]; then
      drain
      # Only one of two who wait takes the end.
      mkdir "$p.taken" 2>/dev/null && [ -s "$p.rc" ] || { say over; return; }
      read -r code <"$p.rc"
      say done "$code"
      show
      rm -rf "$p".*
      return
    fi
    if [ -s "$s/dead" ]; then
      drain
      read -r code <"$s/dead"
      say dead "$code"
      show
      return
    fi
    [ -e "$p.sh" ] || { say over; return; }
    now
    ((REPLY < end)) || break
    nap 0.1
  done
  rm -f "$wake"
  say running
}

cd "$dir" 2>/dev/null || { say lost; exit; }
case $verb in
  open)
    exec 8<> <(:)
    for i in {1..100}; do [ ! -e ready ] || break; nap 0.05; done
    [ -e ready ] || { say lost; exit; }
    ask open "$s"
    for i in {1..200}; do [ ! -s "$s/pid" ] || break; nap 0.02; done
    [ -s "$s/pid" ] || { say lost; exit; }
    say done 0
    exit ;;
  close)
    ask close "$s"
    exec 8<> <(:)
    for i in {1..50}; do [ -d "$s" ] || break; nap 0.02; done
    say done 0
    exit ;;
esac
[ -d "$s" ] || { say gone; exit; }
case $verb in
  run)
    cat >"$p.sh"
    wrong=$(bash -n <"$p.sh" 2>&1)
    code=$?
    if [ "$code" != 0 ]; then
      say syntax "$code"
      printf '%s\n' "$wrong" >&2
      exit
    fi
    ask run "$s" "$n" ;;
  interrupt | kill) ask "$verb" "$s" ;;
esac
await
