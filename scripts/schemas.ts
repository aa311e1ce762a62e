import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { planDocument } from '../src/engine/plan/plan-schema.ts';
import { fleetJsonSchema } from '../src/fleet/fleet-schema.ts';
import { kinds } from '../src/kinds/index.ts';
import { allManifestsJsonSchema, manifestJsonSchema } from '../src/manifests/manifest-json-schema.ts';
import { applyDocument } from '../src/output/apply-json.ts';
import { errorDocument } from '../src/output/error-json-schema.ts';
import { apiJsonSchema } from '../src/page/api/api-documents.ts';
import { policyFileSchema } from '../src/project/policy-schema.ts';
import { projectJsonSchema } from '../src/project/project-json-schema.ts';
import { diffDocument } from '../src/runs/diff/document.ts';
import { draftDiffDocument } from '../src/runs/draft-diff.ts';
import { impactDocument } from '../src/runs/impact/impact-document.ts';
import { historyDocument } from '../src/runs/past-runs.ts';
import { plansDocument } from '../src/runs/plans-document.ts';
import { stateDocument } from '../src/state/state-document.ts';

/* Writes schemas/. With --check, writes nothing and fails if the files are not current. */

const folder = path.resolve(import.meta.dirname, '..', 'schemas');
/** The output of `drift --output json`: a plan that restores the applied values. */
const driftDocument = planDocument
  .omit({ digest: true })
  .describe('Changes on the platform since the last apply, as the plan that would undo them');
const files = schemaFiles();

if (process.argv.includes('--check')) check();
else write();

/** Returns the text of every schema file, by name. */
function schemaFiles(): ReadonlyMap<string, string> {
  const schemas: [string, object][] = [
    ['manifest', allManifestsJsonSchema(kinds.values())],
    ...[...kinds.values()].map((kind): [string, object] => [kebabCase(kind.name), manifestJsonSchema(kind)]),
    ['project', projectJsonSchema(kinds.values())],
    ['fleet', fleetJsonSchema()],
    ['policies', { title: 'voxform policies', ...z.toJSONSchema(policyFileSchema()) }],
    ['plan', { title: 'voxform plan', ...z.toJSONSchema(planDocument) }],
    ['apply', { title: 'voxform apply', ...z.toJSONSchema(applyDocument) }],
    ['drift', { title: 'voxform drift', ...z.toJSONSchema(driftDocument) }],
    ['plans', { title: 'voxform plans', ...z.toJSONSchema(plansDocument) }],
    ['diff', { title: 'voxform diff', ...z.toJSONSchema(diffDocument) }],
    ['draft-diff', { title: 'voxform versions --diff published', ...z.toJSONSchema(draftDiffDocument) }],
    ['history', { title: 'voxform history', ...z.toJSONSchema(historyDocument) }],
    ['impact', { title: 'voxform impact', ...z.toJSONSchema(impactDocument) }],
    ['api', { title: 'voxform API', ...apiJsonSchema() }],
    ['error', { title: 'voxform error', ...z.toJSONSchema(errorDocument) }],
    ['state', { title: 'voxform state', ...z.toJSONSchema(stateDocument()) }],
  ];
  return new Map(schemas.map(([name, schema]) => [`${name}.schema.json`, textOf(name, schema)]));
}

function textOf(name: string, schema: object): string {
  const head = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `urn:voxform:schema:v1:${name}`,
    title: undefined,
  };
  return `${JSON.stringify({ ...head, ...schema }, undefined, 2)}\n`;
}

function kebabCase(name: string): string {
  return name.replace(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase();
}

function existingFiles(): readonly string[] {
  mkdirSync(folder, { recursive: true });
  return readdirSync(folder);
}

function write(): void {
  for (const name of existingFiles()) if (!files.has(name)) rmSync(path.join(folder, name));
  for (const [name, text] of files) writeFileSync(path.join(folder, name), text);
}

function check(): void {
  const names = new Set(existingFiles());
  const stale = [...files].filter(
    ([name, text]) => !names.has(name) || readFileSync(path.join(folder, name), 'utf8') !== text,
  );
  const extra = [...names].filter((name) => !files.has(name));
  for (const [name] of stale) process.stderr.write(`schemas/${name} is not current\n`);
  for (const name of extra) process.stderr.write(`schemas/${name} has no source\n`);
  if (stale.length + extra.length === 0) return;
  process.stderr.write('Run: npm run schemas\n');
  process.exitCode = 1;
}
