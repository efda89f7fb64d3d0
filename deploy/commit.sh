#!/bin/sh
# Prints the commit that is checked out, from the few files of .git that the
# image's build sees: the whole history would make every build slow.
set -eu
[ -f .git/HEAD ] || { echo dev; exit; }
read -r head <.git/HEAD
case $head in
"ref: "*)
  ref=${head#ref: }
  if [ -f ".git/$ref" ]; then
    read -r head <".git/$ref"
  else
    head=$(awk -v ref="$ref" '$2 == ref { print $1 }' .git/packed-refs 2>/dev/null || true)
  fi
  ;;
esac
printf '%.12s\n' "${head:-dev}"
