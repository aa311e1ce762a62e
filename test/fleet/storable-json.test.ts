import fc from 'fast-check';
import { expect, it } from 'vitest';
import { storableJson } from '../../src/fleet/database/fleet-database.ts';
import { newDatabases } from './fleet-databases.ts';

const odd = fc.string({
  unit: fc.constantFrom('\0', '\\', 'u0000', '\\u0000', '\ud83d', '\ude00', '"', 'é', '\ufffd', 'd'),
});

it('replaces only values that cannot be stored', () => {
  const shown = (text: string) => text.replaceAll('\0', '\ufffd').toWellFormed();
  fc.assert(
    fc.property(odd, odd, (key, text) => {
      expect(JSON.parse(storableJson({ [key]: [text] }))).toEqual({ [shown(key)]: [shown(text)] });
    }),
  );
});

it("stores a string with NUL, such as a server's error", async () => {
  const database = await newDatabases.PostgreSQL?.();
  expect(await database?.query('SELECT $1::text AS stored', 'a\0b')).toEqual([{ stored: 'a\ufffdb' }]);
});

it('returns the value that PostgreSQL stores', async () => {
  const database = await newDatabases.PostgreSQL?.();
  for (const text of fc.sample(odd, 50)) {
    const [row] = (await database?.query('SELECT $1::jsonb AS stored', storableJson({ text }))) ?? [];
    expect(row).toEqual({ stored: JSON.parse(storableJson({ text })) });
  }
});
