import { z } from 'zod';
import type { Kind } from '../../src/kinds/kind.ts';
import { ADDRESS_COLUMN, ID_COLUMN } from '../../src/kinds/record-table.ts';
import type { PlatformClient } from '../../src/platform/client.ts';

const record = z.looseObject({ id: z.string().min(1), name: z.string(), pitch: z.number().nullish() });

const voices = (client: PlatformClient) => client.collection('voices', () => record);

/** A fifth kind: listed, created and updated, and identified by its name. */
export const voice: Kind = {
  name: 'Voice',
  dashboardKey: 'voice',
  description: 'A voice that agents speak with.',
  spec: z.strictObject({
    name: z.string().min(1).meta({ description: 'Name of the voice.' }),
    pitch: z.number().optional().meta({ description: 'Semitones above the recording.' }),
  }),
  fields: {},
  naturalKey: ({ name }) => (typeof name === 'string' ? { field: 'name', key: name } : undefined),
  naturalKeyOf: ({ name }) => String(name),
  table: {
    name: 'voices',
    description: 'voices',
    columns: [ID_COLUMN, ADDRESS_COLUMN, { title: 'PITCH', field: 'pitch', align: 'right' }],
  },
  label: ({ name }) => String(name),
  list: (client) => voices(client).list(),
  create: (client, body) => voices(client).create(body),
  update: (client, id, body) => voices(client).update(id, body),
};
