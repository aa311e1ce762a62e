import { z } from 'zod';
import { type NumberRequest, numberRequest } from '../platform/records/number-records.ts';
import { lazyStrictObject } from '../values/described.ts';
import type { Kind } from './kind.ts';
import { ADDRESS_COLUMN, ID_COLUMN } from './record-table.ts';

const agentField = (direction: string) =>
  z
    .string()
    .nullable()
    .meta({
      description: `The ${direction} agent of the number, as { $ref: Agent/<name> }; null for none. Set in the dashboard.`,
      examples: [{ $ref: 'Agent/support-line' }],
    })
    .optional();

const spec = lazyStrictObject(() => ({
  ...numberRequest().shape,
  inbound_agent_id: agentField('inbound'),
  outbound_agent_id: agentField('outbound'),
}));

/** A phone number. The API lists and creates numbers. Numbers are linked to agents in the dashboard. */
export const phoneNumber: Kind = {
  name: 'PhoneNumber',
  dashboardKey: 'number',
  description: 'A phone number and the agents it is linked to.',
  get spec() {
    return spec();
  },
  fields: {
    number: { immutable: true, returnedAsNumber: true, normalise: digitsOf },
    nickname: { manual: true, normalise: trim },
    inbound_agent_id: { manual: true, notAtCreate: true, refersTo: 'Agent' },
    outbound_agent_id: { manual: true, notAtCreate: true, refersTo: 'Agent' },
  },
  naturalKey: ({ number }) => (typeof number === 'string' ? { field: 'number', key: digitsOf(number) } : undefined),
  naturalKeyOf: ({ number }) => digitsOf(number ?? '') || undefined,
  table: {
    name: 'numbers',
    description: 'phone numbers',
    columns: [
      ID_COLUMN,
      { title: 'NUMBER', field: 'number', noWrap: true },
      { title: 'NICKNAME', field: 'nickname' },
      { title: 'INBOUND AGENT', field: 'inbound_agent_id', form: 'reference' },
      { title: 'OUTBOUND AGENT', field: 'outbound_agent_id', form: 'reference' },
      { ...ADDRESS_COLUMN, dropOrder: 1 },
    ],
  },
  list: (client) => client.numbers.list(),
  routes: {
    noun: 'phone number',
    ways: { inbound_agent_id: 'inbound', outbound_agent_id: 'outbound' },
    named: { field: 'numbers', item: 'number', way: 'linked' },
    verbs: {
      inbound: ['answers', 'answer'],
      outbound: ['calls from', 'call from'],
      linked: ['is linked to', 'be linked to'],
    },
    label({ id, number, nickname }) {
      const name = String(number ?? id);
      return typeof nickname === 'string' && nickname !== '' ? `${name} (${nickname})` : name;
    },
  },
  inTwoWorkspaces: ({ spec: { inbound_agent_id: inbound } }) =>
    inbound === undefined || inbound === null
      ? undefined
      : {
          harm: 'once both workspaces have the number, a call may reach either: the API does not document which',
          step: 'unlink or release the number, which is live there',
        },
  label: ({ nickname, number }) => String(nickname ?? number ?? ''),
  create: (client, body) => client.numbers.create(body as NumberRequest),

  manualChangeStep({ path, record, after }) {
    const name = `number ${String(record.number)}`;
    if (path === 'nickname') return `In the dashboard, rename ${name} to ${after}.`;
    const direction = path === 'inbound_agent_id' ? 'inbound' : 'outbound';
    if (after === 'null') return `In the dashboard, remove the ${direction} agent of ${name}.`;
    return `In the dashboard, set the ${direction} agent of ${name} to ${after}.`;
  },
};

/** Returns the digits without a plus, separators or leading zeros, so that all spellings of a number are equal. */
function digitsOf(value: unknown): string {
  return String(value)
    .replace(/\D/g, '')
    .replace(/^0+(?=\d)/, '');
}

/** Removes the spaces around a nickname. They are not compared, because the platform may trim them. */
function trim(value: unknown): unknown {
  return typeof value === 'string' ? value.trim() : value;
}
