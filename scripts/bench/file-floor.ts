import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/*
 * The floor of writing: files of the same names and sizes as those in a folder.
 *   node file-floor.ts FOLDER COPY
 */

const [folder = '.', copy = ''] = process.argv.slice(2);
mkdirSync(copy);
for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
  const place = path.join(entry.parentPath, entry.name);
  const target = path.join(copy, path.relative(folder, place));
  if (entry.isDirectory()) mkdirSync(target, { recursive: true });
  else writeFileSync(target, 'x'.repeat(statSync(place).size));
}
