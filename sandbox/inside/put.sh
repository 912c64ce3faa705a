# Puts an uploaded file in its place in one step. A name may end with newlines, which
# $(...) removes: hence the dot that is appended and cut off again. It may run twice, and
# at once: where the uploaded file is gone, another run has put it in its place.
# Arguments:
#   1 the uploaded file    2 the place    3 its mode
# Exit code: 93: the place is not inside; 252: the disk is full. The uploaded file is left then.
[ -e "$1" ] || exit 0
d=${2%/*}
r=$(realpath -m -- "$d" && echo .) || exit 93
r=${r%??}
case $r/ in /workspace/.yudai/*) false ;; /workspace/* | /tmp/*) ;; *) false ;; esac || exit 93
mkdir -p -- "$r" || exit 93
f=$r/${2##*/}
[ -d "$f" ] && [ ! -L "$f" ] && exit 93
t=$1
if [ "${r#/tmp}" != "$r" ]; then # another file system, perhaps: the last step must be a rename
  t=$(mktemp "$r/.yudai-XXXXXXXX" && echo .) || exit 252
  t=${t%??}
  cat <"$1" >"$t" || { rm -f -- "$t"; [ -e "$1" ] || exit 0; exit 252; }
fi
chmod "$3" -- "$t" && mv -fT -- "$t" "$f" && rm -f -- "$1" && exit 0
[ "$t" = "$1" ] || rm -f -- "$t"
[ -e "$1" ] || exit 0
exit 1
