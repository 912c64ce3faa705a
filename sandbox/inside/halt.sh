# Ends what was launched. Arguments:
#   1 our directory    2 token of the owner
#   3 prefix of the files of a launch that went wrong: only that one, which then never begins
# Exit code: 251: the sandbox has another owner.
S=$1 p=$3 strict=
exec 2>/dev/null
owned "$2" || exit 251
if [ -n "$p" ]; then
  set -C
  : >"$p.on" && exit 0
  set +C
  for _ in {1..300}; do
    [ ! -e "$p.other" ] || exit 0
    [ ! -e "$p.up" ] || break
    nap 0.02
  done
fi
for _ in {1..300}; do
  reap +
  launched || exit 0
  nap 0.02
done
exit 1
