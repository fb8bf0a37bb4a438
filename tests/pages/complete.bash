# Prints what bash completes: complete.bash FILE FUNCTION LINE
. "$1"
COMP_LINE=$3
COMP_POINT=${#3}
"$2"
printf '%s\n' "${COMPREPLY[@]}"
