# Starts the program that outlives its owner, unless it was started before. Arguments:
#   1 prefix of its files, in the directory launched of ours    2 token of the owner
#   3 seconds it may take, with three decimals; 0 for ever
#   4 text of the command; empty: it is in a file
# Exit code: 94: another one runs; 251: the sandbox has another owner; 252: its disk is
# full; 253: it did not start.
p=$1 token=$2 limit=$3 text=$4 strict=
S=${p%/launched/*}

# program is the first process of what is launched. All others come from it.
program() {
  trap : HUP INT TERM PIPE
  ulimit -x "$most"
  owned "$token" && : >"$p.up" || exit
  [ "$limit" = 0 ] || hold
  become + "$most"
}

# hold runs the program, ends all that was launched when its time is over, and goes with
# the last of it.
hold() {
  local over
  set -m # SIGINT is not for programs in the background to ignore
  (become + "$most") &
  set +m
  sleep "$limit" &
  over=$!
  wait -n
  while kill -0 "$over" && launched "$over"; do nap 0.5; done
  if kill -0 "$over"; then
    kill -KILL "$over"
  else
    reap +
  fi
  exit
}

exec 2>/dev/null
owned "$token" || exit 251
mkdir -p "$S/launched"
set -C
if : >"$p.on"; then
  set +C
  if launched; then
    : >"$p.other"
    exit 94
  fi
  for f in "$S/launched"/*; do
    [ "${f%.*}" = "$p" ] || rm -f "$f"
  done
  set -m # a process group of its own
  (program) </dev/null >/dev/null &
  set +m
else
  set +C
  [ -e "$p.on" ] || exit 252
fi
for _ in {1..600}; do
  [ ! -e "$p.up" ] || exit 0
  [ ! -e "$p.other" ] || exit 94
  nap 0.02
done
exit 253
