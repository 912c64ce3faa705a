# Puts an uploaded file in its place in one step. A name may end with newlines, which
# $(...) removes: hence the dot that is appended and cut off again. Arguments:
#   1 the uploaded file    2 the place    3 its mode
# Exit code: 93: the place is not inside; 252: the disk is full.
d=${2%/*}
r=$(realpath -m -- "$d" && echo .) || exit 93
r=${r%??}
case $r/ in /workspace/.yudai/*) false ;; /workspace/* | /tmp/*) ;; *) false ;; esac || { rm -f -- "$1"; exit 93; }
mkdir -p -- "$r" || { rm -f -- "$1"; exit 93; }
f=$r/${2##*/}
if [ -d "$f" ] && [ ! -L "$f" ]; then
  rm -f -- "$1"
  exit 93
fi
t=$f
if [ "${r#/tmp}" != "$r" ]; then # another file system, perhaps: the last step must be a rename
  t=$(mktemp "$r/.yudai-XXXXXXXX" && echo .) || exit 252
  t=${t%??}
  cat <"$1" >"$t" || { rm -f -- "$t" "$1"; exit 252; }
  rm -f -- "$1"
else
  t=$1
fi
chmod "$3" -- "$t" && mv -fT -- "$t" "$f" && exit 0
rm -f -- "$t"
exit 1
