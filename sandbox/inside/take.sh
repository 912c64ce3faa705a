# Takes a sandbox over from a dead owner and ends its commands, but not what it launched. Arguments:
#   1 our directory    2 token of the new owner    3 strict: 1, or empty
#   4 only if that is the owner already: 1, or empty
# Exit code: 251: the sandbox has another owner.
S=$1 strict=$3
exec 2>/dev/null
[ -d "$S" ] || exit 1
[ -z "$4" ] || owned "$2" || exit 251
echo "$2" >"$S/owner.new" && mv -f "$S/owner.new" "$S/owner" || exit 252
for _ in {1..300}; do
  reap '[0-9a-z]*'
  left=
  for f in "$S"/*.on; do
    f=${f%.on}
    [ -e "$f.on" ] && [ ! -e "$f.rc" ] && [ -s "$f.pid" ] && read -r pid <"$f.pid" && kill -0 "$pid" && left=1
  done
  [ -n "$left" ] || break
  nap 0.02
done
rm -f "$S"/*.*
exit 0
