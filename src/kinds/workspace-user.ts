import { z } from 'zod';
import { type UserRequest, userRequest } from '../platform/records/user-records.ts';
import { about, lazyStrictObject } from '../values/described.ts';
import type { Kind } from './kind.ts';
import { ADDRESS_COLUMN, ID_COLUMN } from './record-table.ts';

const spec = lazyStrictObject(() => ({
  email: z
    .string()
    .regex(/^\s*[^\s@]+@[^\s@]+\s*$/, { error: 'expected an e-mail address' })
    .meta(about('E-mail address of the user, not case-sensitive.', 'jo@example.com')),
  ...userRequest().partial().shape,
}));

/** A person's access to the workspace. The API lists and updates users. Users are invited in the dashboard. */
export const workspaceUser: Kind = {
  name: 'WorkspaceUser',
  dashboardKey: 'user',
  description: "A person's role and access in the workspace.",
  get spec() {
    return spec();
  },
  fields: {
    email: { immutable: true, normalise: lowerCase },
    modules: { set: true },
    agent_ids: { set: true, refersTo: 'Agent' },
  },
  alwaysSent: { role: 'required', modules: 'optional', agent_ids: 'optional' },
  naturalKey: ({ email }) => (typeof email === 'string' ? { field: 'email', key: lowerCase(email) } : undefined),
  naturalKeyOf: ({ email }) => lowerCase(email ?? '') || undefined,
  table: {
    name: 'users',
    description: 'users of the workspace',
    columns: [
      ID_COLUMN,
      { ...ADDRESS_COLUMN, dropOrder: 1 },
      { title: 'EMAIL', field: 'email', noWrap: true },
      { title: 'ROLE', field: 'role' },
      { title: 'OWNER', field: 'is_owner', dropOrder: 2 },
      { title: 'MODULES', field: 'modules', dropOrder: 3 },
      { title: 'AGENTS', field: 'agent_ids', form: 'count' },
    ],
  },
  list: (client) => client.users.list(),
  label: ({ email }) => String(email ?? '').split('@', 1)[0] ?? '',
  update: (client, id, body) => client.users.update(id, body as UserRequest),
  manualCreateStep: ({ email }) => `In the dashboard, invite ${String(email)} to the workspace.`,
  ownership: {
    field: 'role',
    isOwner: (record, role) =>
      role === undefined ? record.is_owner === true || record.role === 'owner' : role === 'owner',
  },
};

function lowerCase(value: unknown): string {
  return String(value).trim().toLowerCase();
}
