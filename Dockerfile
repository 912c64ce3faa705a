# yudai with git, bubblewrap and the toolchains that its sandboxes show. `make image` builds it: first the image of the docker
# driver's sandboxes (sandbox/docker/image), which has the toolchains, then this one on top. docs/install.md tells how to run it.
ARG SANDBOX=yudai/sandbox:1
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# Version, commit and time, since the repository's history is not copied.
ARG STAMP=
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w -X 'github.com/yudai-dev/yudai/server.stamp=$STAMP'" -o /yudai .

FROM $SANDBOX
# The sandboxes of the driver local look for programs in /usr/local/bin, and Rust's are elsewhere.
RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap \
 && rm -rf /var/lib/apt/lists/* \
 && ln -s "$(rustc --print sysroot)"/bin/* /usr/local/bin/ \
 && install -d -o yudai -g yudai -m 0700 /var/lib/yudai
COPY --from=build /yudai /usr/local/bin/yudai
COPY LICENSE NOTICE /usr/share/doc/yudai/
# A port that is published leads to the container's own address, not to its loopback.
ENV YUDAI_SERVER_ADDRESS=0.0.0.0:8080
ENV HOME=/var/lib/yudai
USER yudai
WORKDIR /var/lib/yudai
VOLUME /var/lib/yudai
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=10s --start-period=20s CMD ["yudai", "healthcheck"]
ENTRYPOINT ["yudai"]
CMD ["serve"]
