# Quire in a container. Build: docker build -t quire:0.2.0 .   Run and configure: docs/use/install.md

FROM node:24-trixie-slim AS console
WORKDIR /app
COPY .npmrc package.json package-lock.json ./
COPY packages packages
COPY console console
COPY docs/openapi.json docs/
RUN --mount=type=cache,target=/root/.npm npm ci --workspace=console --ignore-scripts && node console/build.js

FROM node:24-trixie-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends binutils
WORKDIR /app
COPY .npmrc package.json package-lock.json ./
# The workspace and the scripts of `prepare`: nothing is built without development dependencies, and unused files are removed.
COPY console/package.json console/build.js console/
COPY packages packages
COPY tools/prune-install.ts tools/
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev
# The image gets one Node: that of package-lock.json, which the tests run on. Symbol tables are 52 MB of the two files.
RUN mv node_modules/node/bin/node /usr/local/bin/node \
  && rm -r node_modules/node node_modules/.bin tools \
  && strip --strip-unneeded /usr/local/bin/node node_modules/@lancedb/lancedb-linux-*/*.node
COPY LICENSE ./
COPY src src
COPY --from=console /app/console/dist console/dist

FROM debian:trixie-slim
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Quire" \
  org.opencontainers.image.description="Language-model inference, retrieval and knowledge bases in one service" \
  org.opencontainers.image.version="0.2.0" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.licenses="Apache-2.0"
# A search index on s3:// needs the certificates. Node has its own. PostgreSQL's initdb needs an account for its user.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates libstdc++6 \
  && rm -rf /var/lib/apt/lists/* \
  && groupadd --gid 10001 quire \
  && useradd --uid 10001 --gid 10001 --home-dir /var/lib/quire --shell /usr/sbin/nologin quire \
  && install --directory --owner=10001 --group=10001 --mode=0700 /var/lib/quire
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /app /app
COPY --chmod=755 deploy/docker/quire /usr/local/bin/quire
ENV NODE_ENV=production \
  QUIRE_HOST=0.0.0.0 \
  QUIRE_DATA_DIR=/var/lib/quire/data
# quire.yaml is read from here when it is mounted.
WORKDIR /etc/quire
# Not /var/lib/quire/data: the root of a mounted volume often belongs to root, and the data folder must belong to this user.
VOLUME /var/lib/quire
USER 10001:10001
EXPOSE 8080
HEALTHCHECK --interval=15s --timeout=5s --start-period=120s --retries=3 CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.QUIRE_PORT || 8080}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# No shell and no init in between: Node is process 1 and gets the signals. The service handles SIGTERM and reaps its own children.
ENTRYPOINT ["/usr/local/bin/node", "/app/src/start.js"]
CMD ["serve"]
