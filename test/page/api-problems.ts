import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';

export const apiSchema = JSON.parse(
  readFileSync(path.resolve(import.meta.dirname, '../../schemas/api.schema.json'), 'utf8'),
);

/** Returns the differences between a response of the API and the schema with this name. */
export function apiProblems(name: string, data: unknown): string[] {
  const ajv = new Ajv2020({ allErrors: true, strictTypes: false, strictRequired: false });
  ajv.validate({ ...apiSchema, anyOf: undefined, $ref: `#/$defs/${name}` }, data);
  return (ajv.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}
