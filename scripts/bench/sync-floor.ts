import { mkdtemp, open, rm } from 'node:fs/promises';
import path from 'node:path';

/*
 * The floor for a journal: sequential appends, each synced before the next.
 *   node sync-floor.ts FOLDER APPENDS BYTES
 */

const [parent = '.', appends = '0', bytes = '0'] = process.argv.slice(2);
const folder = await mkdtemp(path.join(parent, 'syncs-'));
const chunk = Buffer.alloc(Math.ceil(Number(bytes) / Number(appends)), 0x61);
const handle = await open(path.join(folder, 'journal'), 'a');
for (let append = 0; append < Number(appends); append++) {
  await handle.write(chunk);
  await handle.datasync();
}
await handle.close();
await rm(folder, { recursive: true });
