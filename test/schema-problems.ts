import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';

/** Returns the differences between data and a schema of the package. */
export function schemaProblems(name: string, data: unknown): string[] {
  const file = path.resolve(import.meta.dirname, `../schemas/${name}.schema.json`);
  const ajv = new Ajv2020({ allErrors: true, strictTypes: false, strictRequired: false });
  ajv.validate(JSON.parse(readFileSync(file, 'utf8')) as object, data);
  return (ajv.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}
