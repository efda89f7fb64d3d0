#!/usr/bin/env bash
# Runs every fuzz test for FUZZTIME (20s).
set -euo pipefail
cd "$(dirname "$0")/.."

found=0
while IFS=: read -r file name; do
  found=$((found + 1))
  echo "fuzz: $name in ${file%/*}"
  go test -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-20s}" "./${file%/*}"
done < <(grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sed -e 's|^\./||' -e 's/func //')
echo "fuzz: $found fuzz tests ran"
