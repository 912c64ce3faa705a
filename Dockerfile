# A static yudai in an image with what it runs: git, bubblewrap and the usual
# toolchains' package managers are the operator's choice (see README.md, Sandbox).
# The local sandbox driver inside a container needs
#   --security-opt seccomp=unconfined --security-opt systempaths=unconfined
# and the state directory on a volume.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /yudai .

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates git bubblewrap \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --home-dir /var/lib/yudai --create-home yudai
COPY --from=build /yudai /usr/local/bin/yudai
USER yudai
WORKDIR /var/lib/yudai
VOLUME /var/lib/yudai
EXPOSE 8080
ENTRYPOINT ["yudai"]
CMD ["serve"]
