import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import type { PlanDocument } from '../../src/engine/plan/plan-document.ts';
import { type Folder, temporaryFolder } from '../cli/voxform-process.ts';
import { API_KEY, projectFile } from '../cli/workspace.ts';
import { command } from '../trust/in-process.ts';

const examples = path.resolve(import.meta.dirname, '../../examples/policies');
const { policies } = parse(readFileSync(path.join(examples, 'policies.yaml'), 'utf8')) as {
  readonly policies: readonly { readonly name: string; readonly on?: string; readonly warn?: string }[];
};
const names = policies.map(({ name }) => name);

interface Example extends AsyncDisposable {
  readonly folder: Folder;
  readonly emulator: Emulator;
}

async function openExample(): Promise<Example> {
  const emulator = await startEmulator({ seed: 1 });
  const folder = await temporaryFolder({ 'voxform.yaml': projectFile(emulator) });
  cpSync(path.join(examples, 'policies.yaml'), path.join(folder.root, 'policies.yaml'));
  return {
    folder,
    emulator,
    async [Symbol.asyncDispose]() {
      await emulator.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const MONDAY = new Date('2026-02-02T08:00:00Z');
const FRIDAY = new Date('2026-01-30T13:30:00Z');

/** Returns the rules that the manifest of an example violates, in a plan of that day. */
async function objecting({ folder }: Example, manifest: string, now: Date): Promise<readonly string[]> {
  await folder.write('manifests/a.yaml', readFileSync(path.join(examples, manifest), 'utf8'));
  const { stdout, stderr } = await command(['plan', '--policy', 'policies.yaml', '--output', 'json'], {
    cwd: folder.root,
    env: { VOXFORM_API_KEY: API_KEY, APPOINTMENTS_URL: 'https://crm.juniper.example/calls?token=abc' },
    now: () => now,
  });
  expect(stdout, stderr).not.toBe('');
  const { violations = [] } = JSON.parse(stdout) as PlanDocument;
  return violations.map(({ rule }) => rule);
}

describe('example rules', () => {
  it('have a manifest each that passes, and one that fails', () => {
    for (const folder of ['passes', 'fails']) {
      const files = readdirSync(path.join(examples, folder)).map((file) => path.basename(file, '.yaml'));
      expect(files.sort()).toEqual([...names].sort());
    }
    expect(names).toHaveLength(10);
  });

  it.each(names)('%s', { tags: ['long'] }, async (name) => {
    await using example = await openExample();
    expect(await objecting(example, `passes/${name}.yaml`, MONDAY)).toEqual([]);
    if (name === 'keep-numbers-and-agents') {
      await command(['apply', '--auto-approve'], { cwd: example.folder.root, env: { VOXFORM_API_KEY: API_KEY } });
    }
    const day = name === 'no-friday-changes' ? FRIDAY : MONDAY;
    expect(await objecting(example, `fails/${name}.yaml`, day)).toEqual([name]);
  });

  it('pass for the project beside them', async () => {
    await using folder = await temporaryFolder();
    cpSync(examples, folder.root, { recursive: true });
    const validate = () => command(['validate', '--policy', 'policies.yaml'], { cwd: folder.root });
    expect((await validate()).stdout).toContain('Valid');
    const failing = readFileSync(path.join(examples, 'fails', 'asks-for-no-card.yaml'), 'utf8');
    writeFileSync(path.join(folder.root, 'manifests/agents.yaml'), failing);
    const { stdout, code } = await validate();
    expect(stdout).toContain('manifests/agents.yaml:10:5  warning: asks-for-no-card: Card numbers must not be asked');
    expect(code).toBe(0);
  });
});
