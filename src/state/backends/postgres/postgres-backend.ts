import { z } from 'zod';
import { attempt } from '../../../problems/attempt.ts';
import { UserError } from '../../../problems/user-error.ts';
import { lazyStrictObject } from '../../../values/described.ts';
import { Secret } from '../../../values/value.ts';
import type { StateBackend } from '../backend.ts';
import { secretTextSetting, withWorkspace } from '../settings.ts';
import { addressIn, addressOf } from './address.ts';
import { type PostgresLocation, PostgresStore } from './postgres-store.ts';
import { setUpScript } from './schema-sql.ts';

const settings = lazyStrictObject(() => ({
  url: secretTextSetting(addressIn('project file'), {
    description: 'Address of the database in the format of libpq.',
    examples: [{ $secret: 'STATE_URL' }, 'postgres://user@db.example.com:5432/voxform'],
  }),
  name: z
    .string()
    .min(1)
    .max(200)
    .meta({
      description:
        'Name of the state in the database, with {workspace} for the name of the workspace; default: {workspace}.',
      examples: ['voices/{workspace}'],
    })
    .optional(),
  schema: z
    .string()
    .regex(/^[a-z_][a-z0-9_]{0,62}$/, 'expected lower-case letters, digits and _')
    .meta({ description: 'Schema of the tables; default: voxform.', examples: ['voxform'] })
    .optional(),
}));

export const postgres: StateBackend<z.infer<ReturnType<typeof settings>>, PostgresLocation> = {
  settings,
  description: 'Backend of the state: postgres, a PostgreSQL database.',
  locationSetting: 'name',
  locate: ({ url, name = '{workspace}', schema = 'voxform' }, { workspace }) => ({
    url,
    name: withWorkspace(name, workspace),
    schema,
  }),
  keyOf: ({ url, name, schema }) => `${serverOf(url)} ${schema} ${name}`,
  describe: ({ url, name }) => `${serverOf(url)} ${name}`,
  open: (location, user) => new PostgresStore(location, postgres.describe(location, user.root)),
  setUp({ url, schema }) {
    const { user } = addressOf(url);
    if (user === undefined) {
      throw new UserError('state.url contains no user to grant access to', {
        hint: 'Write it as postgres://USER@HOST:5432/DATABASE.',
      });
    }
    return setUpScript(schema, user);
  },
};

/** Returns the server without secrets. If the address is not set or invalid, returns the name of its secret. */
function serverOf(url: Secret | string): string {
  const known = attempt(() => addressOf(url).location);
  return known ?? (url instanceof Secret ? `postgres ${url.name}` : 'postgres');
}
