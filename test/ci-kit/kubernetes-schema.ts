import { z } from 'zod';

/*
 * Strict schemas of the Kubernetes objects in the manifests. They reject fields that are misspelt or in the wrong place.
 */

const labels = z.record(z.string(), z.string());
const metadata = z.strictObject({
  name: z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/),
  namespace: z.string().optional(),
  labels: labels.optional(),
});
const quantity = z.string().regex(/^\d+(m|Mi|Gi)?$/);
const resources = z.strictObject({ cpu: quantity.optional(), memory: quantity.optional() });
const port = z.int().min(1).max(65_535);

const probe = z.strictObject({
  httpGet: z.strictObject({ path: z.string().startsWith('/'), port: z.union([port, z.string()]) }),
  periodSeconds: z.int().optional(),
  timeoutSeconds: z.int().optional(),
  failureThreshold: z.int().optional(),
});

const container = z.strictObject({
  name: z.string(),
  image: z.string(),
  args: z.array(z.string()),
  env: z
    .array(
      z.union([
        z.strictObject({ name: z.string(), value: z.string() }),
        z.strictObject({
          name: z.string(),
          valueFrom: z.strictObject({ secretKeyRef: z.strictObject({ name: z.string(), key: z.string() }) }),
        }),
      ]),
    )
    .optional(),
  ports: z.array(z.strictObject({ name: z.string(), containerPort: port })),
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
  resources: z.strictObject({ requests: resources, limits: resources }),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.boolean(),
    privileged: z.boolean(),
    readOnlyRootFilesystem: z.boolean(),
    capabilities: z.strictObject({ drop: z.array(z.string()) }),
  }),
  volumeMounts: z.array(
    z.strictObject({
      name: z.string(),
      mountPath: z.string().startsWith('/'),
      readOnly: z.boolean().optional(),
    }),
  ),
});

// The API refuses an absolute path and a path that contains `..`.
const items = z.array(z.strictObject({ key: z.string(), path: z.string().regex(/^(?!\/)(?!.*\.\.)/) }));

const volume = z.strictObject({
  name: z.string(),
  configMap: z.strictObject({ name: z.string(), items }).optional(),
  secret: z
    .strictObject({
      secretName: z.string(),
      defaultMode: z.int().min(0).max(0o777).optional(),
      items: items.optional(),
    })
    .optional(),
  persistentVolumeClaim: z.strictObject({ claimName: z.string() }).optional(),
  emptyDir: z.strictObject({ sizeLimit: quantity }).optional(),
});

const deployment = z.strictObject({
  apiVersion: z.literal('apps/v1'),
  kind: z.literal('Deployment'),
  metadata,
  spec: z.strictObject({
    replicas: z.int(),
    strategy: z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('Recreate') }),
      z.strictObject({
        type: z.literal('RollingUpdate'),
        rollingUpdate: z.strictObject({ maxSurge: z.int(), maxUnavailable: z.int() }),
      }),
    ]),
    revisionHistoryLimit: z.int(),
    selector: z.strictObject({ matchLabels: labels }),
    template: z.strictObject({
      metadata: z.strictObject({ labels }),
      spec: z.strictObject({
        automountServiceAccountToken: z.boolean(),
        enableServiceLinks: z.boolean(),
        terminationGracePeriodSeconds: z.int(),
        topologySpreadConstraints: z
          .array(
            z.strictObject({
              maxSkew: z.int().min(1),
              topologyKey: z.string(),
              whenUnsatisfiable: z.enum(['ScheduleAnyway', 'DoNotSchedule']),
              labelSelector: z.strictObject({ matchLabels: labels }),
            }),
          )
          .optional(),
        securityContext: z.strictObject({
          runAsNonRoot: z.boolean(),
          runAsUser: z.int(),
          runAsGroup: z.int(),
          fsGroup: z.int(),
          fsGroupChangePolicy: z.enum(['OnRootMismatch', 'Always']),
          seccompProfile: z.strictObject({ type: z.literal('RuntimeDefault') }),
        }),
        containers: z.tuple([container]),
        volumes: z.array(volume),
      }),
    }),
  }),
});

export const manifest = z.discriminatedUnion('kind', [
  z.strictObject({ apiVersion: z.literal('v1'), kind: z.literal('Namespace'), metadata }),
  z.strictObject({
    apiVersion: z.literal('v1'),
    kind: z.literal('ConfigMap'),
    metadata,
    data: z.record(z.string().regex(/^[-._a-zA-Z0-9]+$/), z.string()),
  }),
  z.strictObject({
    apiVersion: z.literal('v1'),
    kind: z.literal('Secret'),
    metadata,
    type: z.literal('Opaque'),
    stringData: z.record(z.string().regex(/^[-._a-zA-Z0-9]+$/), z.string()),
  }),
  z.strictObject({
    apiVersion: z.literal('v1'),
    kind: z.literal('PersistentVolumeClaim'),
    metadata,
    spec: z.strictObject({
      accessModes: z.array(z.enum(['ReadWriteOnce', 'ReadWriteOncePod'])),
      resources: z.strictObject({ requests: z.strictObject({ storage: quantity }) }),
    }),
  }),
  z.strictObject({
    apiVersion: z.literal('v1'),
    kind: z.literal('Service'),
    metadata,
    spec: z.strictObject({
      selector: labels,
      ports: z.array(z.strictObject({ name: z.string(), port, targetPort: z.union([port, z.string()]) })),
    }),
  }),
  z.strictObject({
    apiVersion: z.literal('policy/v1'),
    kind: z.literal('PodDisruptionBudget'),
    metadata,
    spec: z.strictObject({ maxUnavailable: z.int(), selector: z.strictObject({ matchLabels: labels }) }),
  }),
  deployment,
]);

export const kustomization = z.strictObject({
  apiVersion: z.literal('kustomize.config.k8s.io/v1beta1'),
  kind: z.literal('Kustomization'),
  namespace: z.string(),
  labels: z.array(z.strictObject({ pairs: labels, includeSelectors: z.boolean() })),
  resources: z.array(z.string()),
});
