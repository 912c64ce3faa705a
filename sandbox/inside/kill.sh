# Ends one command, or sees to it that it never starts. Arguments:
#   1 prefix of its files    2 strict: 1, or empty
p=$1 strict=$2 id=${1##*/} S=${1%/*}
exec 2>/dev/null
set -C
: >"$p.on" && exit 0
set +C
for _ in {1..300}; do
  reap "$id"
  [ ! -e "$p.rc" ] || exit 0
  read -r pid <"$p.pid" && ! kill -0 "$pid" && exit 0
  nap 0.02
done
exit 1
