# The image of all commands: a static binary, no shell, not root.
#
# The build stage runs on the builder's own platform and cross-compiles, so that
# an image for another one takes no emulation:
#
#   docker buildx build --platform linux/amd64,linux/arm64 .

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src

COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod \
    go mod download

# VERSION is what --version says; without it, the commit that is checked out.
ARG VERSION
ARG TARGETOS
ARG TARGETARCH
RUN --mount=type=bind,target=. \
    --mount=type=cache,target=/go/pkg/mod \
    --mount=type=cache,target=/root/.cache/go-build \
    version=${VERSION:-$(deploy/commit.sh)} && \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$version" -o /out/boxoffice ./cmd/boxoffice

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/boxoffice /usr/local/bin/boxoffice
ENTRYPOINT ["boxoffice"]
