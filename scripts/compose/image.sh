# shellcheck shell=bash disable=SC2034,SC2016,SC2154 # sourced after lib.sh
# The image of our own.

check "builds" compose build booking
size=$(docker image inspect -f '{{.Size}}' boxoffice)
if [ "$size" -lt 40000000 ]; then pass "$((size / 1000000)) MB"; else fail "$((size / 1000000)) MB, want under 40"; fi
equal "--version is the commit" "$(docker run --rm boxoffice --version)" "$(git rev-parse --short=12 HEAD)"
equal "not root" "$(docker image inspect -f '{{.Config.User}}' boxoffice)" 65532
if docker run --rm --entrypoint sh boxoffice -c true >/dev/null 2>&1; then fail "there is a shell"; else pass "no shell"; fi

began=$SECONDS
check "builds again" compose build booking
if [ $((SECONDS - began)) -lt 20 ]; then pass "again in $((SECONDS - began)) s"; else fail "again in $((SECONDS - began)) s"; fi

# The platform's own base image may not be at hand, and running would take
# emulation: the binary is taken from the build stage.
for platform in amd64:3e arm64:b7; do
  cat >"$work/platform.yml" <<YML
services:
  booking:
    image: boxoffice-test-${platform%:*}
    build: {target: build, platforms: [linux/${platform%:*}]}
YML
  overrides=(-f "$work/platform.yml")
  check "cross-compiles for ${platform%:*}" compose build booking
  overrides=()
  id=$(docker create "boxoffice-test-${platform%:*}" true 2>"$work/err")
  docker cp "$id:/out/boxoffice" "$work/binary" >"$work/err" 2>&1
  equal "${platform%:*}: the binary is for it" "$(od -An -tx1 -j18 -N1 "$work/binary" | tr -d ' ')" "${platform#*:}"
  docker rm "$id" >/dev/null
  docker image rm "boxoffice-test-${platform%:*}" >/dev/null
done
