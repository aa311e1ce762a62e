import type { PlatformClient } from '../platform/client.ts';
import { webhookRecord, webhookRequest } from '../platform/records/webhook-records.ts';
import type { Kind } from './kind.ts';
import { ADDRESS_COLUMN, ID_COLUMN } from './record-table.ts';

const webhooks = (client: PlatformClient) => client.collection('webhooks', webhookRecord);

/** A webhook. The API reads webhooks by id, and neither lists nor updates them, so a change requires a new webhook. */
export const webhook: Kind = {
  name: 'Webhook',
  dashboardKey: 'webhook',
  description: 'A webhook: its target URL and delivery settings.',
  get spec() {
    return webhookRequest();
  },
  fields: {
    url: { immutable: true, normalise: canonicalUrl },
    payload: { immutable: true, opaque: true },
    check_https: { immutable: true },
    logging_enabled: { immutable: true },
    retries: { immutable: true },
    timeout: { immutable: true },
  },
  table: {
    name: 'webhooks',
    description: 'webhooks',
    columns: [
      ID_COLUMN,
      ADDRESS_COLUMN,
      { title: 'URL', field: 'url' },
      { title: 'RETRIES', field: 'retries', align: 'right', dropOrder: 1 },
      { title: 'TIMEOUT', field: 'timeout', align: 'right', dropOrder: 2 },
      { title: 'CREATED', field: 'created_at', form: 'time', dropOrder: 3 },
    ],
  },
  get: (client, id) => webhooks(client).get(id),
  label: ({ url }) => hostOf(String(url)),
  inTwoWorkspaces: ({ id, spec: { url } }) => {
    const host = hostOf(String(url));
    return {
      harm: `events go to ${host || 'its URL'} twice until you delete the old webhook ${id}`,
      step: `delete or disable webhook ${id}${host === '' ? '' : ` (${host})`}`,
    };
  },
  create: (client, body) => webhooks(client).create(body),
};

/** Normalizes a URL: `https://example.com` and `https://example.com/` are the same. */
function canonicalUrl(value: unknown): unknown {
  return typeof value === 'string' ? (URL.parse(value)?.href ?? value) : value;
}

/** Returns only the host, because paths of webhooks often contain tokens. */
function hostOf(url: string): string {
  return URL.parse(url)?.hostname ?? '';
}
