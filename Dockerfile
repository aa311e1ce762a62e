# syntax=docker/dockerfile:1
# voxform from its packed tarball, as an unprivileged user. The root file system may be read-only.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json CHANGELOG.md LICENSE README.md ./
COPY scripts scripts
COPY src src
COPY schemas schemas
COPY examples examples
COPY ci ci
COPY completions completions
COPY docs docs
# The tarball that npm would publish. The lock file pins the tested dependencies.
RUN npm pack --pack-destination / \
  && mkdir /voxform \
  && tar -xzf /voxform-*.tgz -C /voxform --strip-components=1 \
  && cp package-lock.json /voxform/ \
  && cd /voxform \
  && npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM ${NODE_IMAGE}
# git is for `watch --git` and for states in Git. Its helpers stay in the foreground, because the container has no init.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates git openssh-client \
  && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production \
  GIT_CONFIG_COUNT=2 \
  GIT_CONFIG_KEY_0=gc.autoDetach GIT_CONFIG_VALUE_0=false \
  GIT_CONFIG_KEY_1=maintenance.autoDetach GIT_CONFIG_VALUE_1=false
# Owned by root: the process cannot change its own code.
COPY --from=build /voxform /opt/voxform
RUN ln -s /opt/voxform/dist/main.js /usr/local/bin/voxform
WORKDIR /project
# Numeric, so that Kubernetes can verify that it is not root.
USER 1000:1000
# Exec form: node is process 1 and receives signals.
ENTRYPOINT ["node", "/opt/voxform/dist/main.js"]
CMD ["--help"]
