# Waits until the program has ended, but not longer than so many seconds, and tells how
# it is: bytes printed so far, exit status or -, now, when it was started or -, and how
# many of the bytes after FROM follow, at most MOST.
# Usage: poll FROM MOST SECONDS
dir=/workspace/agent from=$1 most=$2 wait=$3
# Opened before the look at the exit status: no ring is missed.
if [[ $wait != 0 && -p $dir/bell ]] && exec 3<>"$dir/bell"; then
	[[ -e $dir/exit ]] || read -r -t "$wait" -n 1 -u 3
elif [[ $wait != 0 && ! -e $dir/exit ]]; then
	sleep "$wait"
fi 2>/dev/null
status=- started=- size=0
# The program can put anything in the place of these files: a pipe would keep us.
[[ -f $dir/exit ]] && read -r status _ <"$dir/exit"
[[ -f $dir/started ]] && read -r started _ <"$dir/started"
[[ -f $dir/output.log ]] && size=$(stat -c %s "$dir/output.log")
more=$((size - from))
((more > most)) && more=$most
((more < 0)) && more=0
printf '%s %s %(%s)T %s %s\n' "$size" "$status" -1 "$started" "$more"
((more == 0)) || tail -c "+$((from + 1))" "$dir/output.log" | head -c "$more"
