# Runs one program: its output, little more than so many bytes at most, goes to one file, and when it
# has ended its exit status to another. It outlives yudai, and needs nothing of it.
# Usage: supervise BYTES PROGRAM ARGUMENT... (0 bytes: no limit)
dir=/workspace/agent most=$1
shift
mkfifo "$dir/bell" 2>/dev/null
printf '%(%s)T\n' -1 >"$dir/started"
sync "$dir/started" 2>/dev/null

# More than the limit tells that it was met. The rest is read and dropped: the program
# must not fail of it before it is stopped.
keep() {
	(
		((most == 0)) || ulimit -c 0 -f $((most / 1024 + 1))
		exec cat
	) >>"$dir/output.log" 2>/dev/null
	cat >/dev/null
}

exec 3> >(keep)
keeper=$!
"$@" </dev/null >&3 2>&1 3>&-
status=$?
exec 3>&-
# What the program left behind may hold its output open: then nobody waits for it.
for ((i = 0; i < 50; i++)); do
	kill -0 "$keeper" 2>/dev/null || break
	sleep 0.02
done
printf '%s\n' "$status" >"$dir/exit.new" && mv "$dir/exit.new" "$dir/exit"
printf . 1<>"$dir/bell" # whoever waits looks at once
