import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rename } from 'node:fs/promises';
import path from 'node:path';
import { expect, inject } from 'vitest';
import { embeddedFleetDatabase } from '../../src/fleet/database/fleet-database.ts';

const FIRST = path.join(inject('built'), 'embedded');

/** Copies an empty embedded database to this folder. Creating one takes seconds, copying does not. */
export async function putEmbedded(folder: string): Promise<void> {
  const isOurs = await mkdir(`${FIRST}.begun`).then(
    () => true,
    () => false,
  );
  if (isOurs) await makeFirst();
  else await expect.poll(() => existsSync(FIRST)).toBe(true);
  await cp(FIRST, folder, { recursive: true });
}

async function makeFirst(): Promise<void> {
  const folder = await mkdtemp(`${FIRST}.new-`);
  await (await embeddedFleetDatabase(folder)).close();
  await rename(folder, FIRST);
}
