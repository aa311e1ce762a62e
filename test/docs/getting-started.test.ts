import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import type { Workflow } from '../ci-kit/workflow.ts';
import { temporaryFolder } from '../cli/voxform-process.ts';
import { command } from '../trust/in-process.ts';
import { openPage } from './page.ts';

const KEYS = { LOCAL_API_KEY: 'any', OPENAI_API_KEY: 'any' };

interface ProjectFile {
  readonly workspaces: Readonly<Record<string, { base_url: string; api_key: { $secret: string } }>>;
}

it('docs/getting-started.md can be followed from the first command to the last', async () => {
  await using local = await startEmulator({ seed: 1 });
  await using own = await startEmulator({ seed: 2, workspaceId: '01JVQ7XK2MSTAGING000000001' });
  await using folder = await temporaryFolder();
  const stands = { 'http://127.0.0.1:4010': local.url, 'https://voice.example.com': own.url };
  const page = openPage('docs/getting-started.md', { folder, stands });
  const voices = path.join(folder.root, 'voices');
  const edit = async (name: string, from: string, to: string): Promise<void> => {
    const text = await readFile(path.join(voices, name), 'utf8');
    expect(text).toContain(from);
    await folder.write(`voices/${name}`, text.replace(from, to));
  };

  page.skip('npm ci && npm run build');
  await page.next('voxform --version');
  await page.next('voxform init', { typed: '\n' });
  await edit('voxform.yaml', 'http://127.0.0.1:4010', local.url);
  await page.next('cd voices');
  page.skip('voxform emulator');
  await page.through('export', 'voxform validate', 'voxform plan', 'voxform apply', 'voxform plan');
  const [, from = '', to = ''] = /replace `([^`]*)` with `([^`]*)`/.exec(page.text) ?? [];
  await edit('prompts/receptionist.md', from, to);
  await page.through('voxform plan', 'voxform apply');

  await edit('voxform.yaml', 'workspaces:\n', `workspaces:\n${page.block('yaml')}`);
  await edit('manifests/numbers.yaml', '# inbound_agent_id', 'inbound_agent_id');
  await page.through('export', 'export', 'voxform plan', 'voxform apply', 'voxform plan');
  const agent = inTheDashboard(own);
  await page.next('voxform plan -w staging');
  own.dashboard.edit('agents', agent, { llm_config: { temperature: 0.5 } });
  await page.next('voxform drift', { code: 2 });
  await page.through('voxform accept', 'voxform plan');
  page.end();

  own.dashboard.edit('agents', agent, { prompt_config: { welcome_message: 'Juniper Dental, good day.' } });
  const keys = { STAGING_API_KEY: 'any', OPENAI_API_KEY: 'value-of-OPENAI_API_KEY' };
  const accepted = await command(['accept', '-w', 'staging', '--auto-approve'], { cwd: voices, env: keys });
  expect(accepted, 'the most likely edit').toMatchObject({ code: 0 });
  expect(await readFile(path.join(voices, 'manifests/agents.yaml'), 'utf8')).toContain('Juniper Dental, good day.');

  const written = async <T>(name: string) => parse(await readFile(path.join(voices, name), 'utf8')) as T;
  const { env: inCi, jobs } = await written<Workflow>('.github/workflows/voxform.yml');
  const { workspaces } = await written<ProjectFile>('voxform.yaml');
  const { base_url: url, api_key: key } = workspaces[inCi?.VOXFORM_WORKSPACE ?? ''] ?? {};
  expect(url, 'CI does not use the local workspace').toBe(own.url);
  const named = Object.values(jobs).map(({ steps }) => steps.flatMap(({ env = {} }) => Object.keys(env)));
  expect(named).toEqual(Object.keys(jobs).map(() => [key?.$secret, 'OPENAI_API_KEY']));
});

it('README.md shows the actual output of a plan', async () => {
  await using local = await startEmulator({ seed: 1 });
  await using folder = await temporaryFolder();
  const run = (args: readonly string[]) => command(args, { cwd: folder.root, env: KEYS });
  expect((await run(['init', '.', '--install', `v.tgz#sha256=${'a'.repeat(64)}`])).code).toBe(0);
  const replace = async (name: string, from: string, to: string): Promise<void> => {
    const text = await readFile(path.join(folder.root, name), 'utf8');
    expect(text).toContain(from);
    await folder.write(name, text.replace(from, to));
  };
  await replace('voxform.yaml', 'http://127.0.0.1:4010', local.url);
  expect((await run(['apply', '--auto-approve'])).code).toBe(0);
  const [agent = ''] = local.world.agents.keys();
  local.dashboard.edit('agents', agent, { llm_config: { temperature: 0.9 } });
  await replace('prompts/receptionist.md', 'an appointment.', 'an appointment, before 6 pm.');
  const stands = { 'http://127.0.0.1:4010': local.url };
  const page = openPage('README.md', { folder, stands, env: KEYS, section: 'A plan' });
  await page.next('voxform plan');
});

/** Performs the steps of the page in the dashboard. Returns the id of the agent. */
function inTheDashboard({ world, dashboard }: Emulator): string {
  const [agent = ''] = world.agents.keys();
  for (const number of world.numbers.keys()) dashboard.linkNumber(number, { inbound_agent_id: agent });
  dashboard.publishAgent(agent);
  return agent;
}
