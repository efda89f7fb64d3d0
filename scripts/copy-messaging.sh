#!/usr/bin/env bash
# Shows that messaging can be copied into another project as it is: copies it
# with its subfolders into an empty module, rewrites the import path, and runs
# its tests there. With no broker named (see messaging/rabbitmq/rabbitmqtest),
# those on RabbitMQ are skipped: go run ./scripts/withbroker scripts/copy-messaging.sh
# runs all. Arguments go to go test, such as -short or -run Example.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp -R messaging "$dir/messaging"
# The versions of this module, of which go mod tidy drops what is not needed.
sed 's/^module .*/module example.com\/shop/' go.mod >"$dir/go.mod"
cp go.sum "$dir/"
cd "$dir"
grep -rl --include='*.go' '"boxoffice/messaging' . |
  while read -r file; do sed -i.old 's|"boxoffice/messaging|"example.com/shop/messaging|' "$file"; done
find . -name '*.old' -delete

if grep -rnE --include='*.go' '"boxoffice[/"]' .; then
  echo "copy-messaging: messaging imports something from outside its folder" >&2
  exit 1
fi
go mod tidy
go vet ./...
go test -count=1 "$@" ./...
