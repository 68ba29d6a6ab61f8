# The image of the job. Debian, not Alpine: Node's makers test their builds with glibc, and DuckDB's library is no smaller for musl.

# 1. Compile.
FROM node:24-slim AS build
WORKDIR /app
COPY .npmrc package.json package-lock.json ./
RUN npm ci
COPY tsconfig.json ./
COPY src ./src
RUN npm run build

# 2. What is needed at run time, in a stage of its own: npm's cache stays behind.
FROM node:24-slim AS dependencies
WORKDIR /app
COPY .npmrc package.json package-lock.json ./
RUN npm ci --omit=dev
# `--build-arg REFERENCE_SERVER=with` keeps what only the command `reference-server` needs.
ARG REFERENCE_SERVER=without
RUN [ "$REFERENCE_SERVER" = with ] || npm uninstall --omit=dev --offline fastify light-my-request
# Types and source maps of packages: a third of their size.
RUN find node_modules -name '*.ts' -delete -o -name '*.map' -delete

# 3. The image: of Node the program alone, without headers, npm and yarn. Everything in /app belongs to root and is never
#    written to: it runs with a read-only root file system. All that is written, DuckDB's temporary files included, goes
#    to /warehouse.
FROM debian:13-slim
LABEL org.opencontainers.image.title="fieldwork-sync" \
      org.opencontainers.image.description="Syncs surveys, sample sources and fieldwork progress from a survey fieldwork API into DuckDB, Parquet and Delta tables, within 60 requests a minute, losing nothing." \
      org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production \
    FIELDWORK_SYNC_WAREHOUSE=/warehouse
COPY --from=dependencies /usr/local/bin/node /usr/local/bin/node
WORKDIR /app
COPY LICENSE package.json ./
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# For any user of the group root too, as on OpenShift.
RUN install --directory --owner=1000 --group=0 --mode=0775 /warehouse
VOLUME /warehouse
# As numbers, so that `runAsNonRoot` can tell that it is not root.
USER 1000:1000
# A sync stops within ten seconds of SIGTERM: what it has done is committed and published, the rest stays queued.
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "/app/dist/main.js"]
CMD ["sync"]
