# The image of the job. Debian, not Alpine: DuckDB's native library is built for glibc.

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

# 3. The image. Everything in /app belongs to root and is never written to: it runs with a read-only root file
#    system. All that is written, DuckDB's temporary files included, goes to /warehouse.
FROM node:24-slim
LABEL org.opencontainers.image.title="fieldwork-sync" \
      org.opencontainers.image.description="Syncs surveys, sample sources and fieldwork progress from a survey fieldwork API into DuckDB, Parquet and Delta tables, within 60 requests a minute, losing nothing." \
      org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production \
    FIELDWORK_SYNC_WAREHOUSE=/warehouse
WORKDIR /app
COPY LICENSE package.json ./
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
RUN install --directory --owner=1000 --group=1000 /warehouse
VOLUME /warehouse
# As numbers, so that `runAsNonRoot` can tell that it is not root.
USER 1000:1000
# A sync stops within ten seconds of SIGTERM: what it has done is committed and published, the rest stays queued.
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "/app/dist/main.js"]
CMD ["sync"]
