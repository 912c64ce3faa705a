# Tells whether anything that was launched runs. Arguments:
#   1 our directory    2 token of the owner
# Exit code: 94: it does; 251: the sandbox has another owner.
S=$1 strict=
exec 2>/dev/null
owned "$2" || exit 251
launched && exit 94
exit 0
