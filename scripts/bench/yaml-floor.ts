import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';

/*
 * The floor for parsing: reads every manifest of a project, and converts it to plain data with the yaml package.
 *   node yaml-floor.ts FOLDER
 */

const folder = path.join(process.argv[2] ?? '.', 'manifests');
let fields = 0;
for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
  if (!name.endsWith('.yaml')) continue;
  const text = readFileSync(path.join(folder, name), 'utf8');
  for (const document of parseAllDocuments(text)) fields += Object.keys(document.toJS() as object).length;
}
if (fields === 0) throw new Error(`no manifests in ${folder}`);
