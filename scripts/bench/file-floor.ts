import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/*
 * The floor for writing: creates files with the names and sizes of those in a folder.
 *   node file-floor.ts FOLDER COPY
 */

const [folder = '.', copy = ''] = process.argv.slice(2);
mkdirSync(copy);
for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
  const source = path.join(entry.parentPath, entry.name);
  const target = path.join(copy, path.relative(folder, source));
  if (entry.isDirectory()) mkdirSync(target, { recursive: true });
  else writeFileSync(target, 'x'.repeat(statSync(source).size));
}
