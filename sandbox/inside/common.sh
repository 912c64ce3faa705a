# reap ends every process that has the marker $1, a pattern, however it hides from its
# process group; where strict, those that have none of ours at all, too. It starts no
# process: there may be no room for one. What it finds it stops first and kills when
# nothing new is found: what is stopped cannot fork, and keeps its place taken.
reap() {
  local f pid e mine new held=() env
  local -A known=()
  for _ in {1..200}; do
    new=
    for f in /proc/[0-9]*; do
      pid=${f#/proc/}
      [ "$pid" != 1 ] && [ -z "${known[$pid]}" ] && [ -e "$f/exe" ] && mapfile -d '' -t env <"$f/environ" || continue
      mine=$strict
      for e in "${env[@]}"; do
        case $e in
          YUDAI_EXEC=$1) mine=1; break ;;
          YUDAI_EXEC=* | YUDAI_KEEP=1) mine= ;;
        esac
      done
      if [ -n "$mine" ]; then
        kill -STOP "$pid" && new=1 known[$pid]=1 held+=("$pid")
      fi
    done
    [ -n "$new" ] || break
  done
  ((${#held[@]} > 0)) || return
  kill -KILL "${held[@]}"
  for _ in {1..100}; do
    new=
    for pid in "${held[@]}"; do [ ! -e "/proc/$pid/exe" ] || new=1; done
    [ -n "$new" ] || return
    kill -KILL "${held[@]}"
  done
}

# nap waits for some seconds without a process.
nap() { read -r -t "$1" <> <(:); }
