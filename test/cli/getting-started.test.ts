import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import type { Workflow } from '../ci-kit/workflow.ts';
import { command } from '../trust/in-process.ts';
import { temporaryFolder } from './voxform-process.ts';

const PAGE = readFileSync(path.resolve(import.meta.dirname, '../../docs/getting-started.md'), 'utf8');

interface ProjectFile {
  readonly workspaces: Readonly<Record<string, { base_url: string; api_key: { $secret: string } }>>;
}

interface Shown {
  readonly args: readonly string[];
  /** What the page shows of the output. */
  readonly output: readonly string[];
}

/** What the page has people type, in its order. */
const commands: Shown[] = [...PAGE.matchAll(/```console\n([^`]*)```/g)]
  .flatMap(([, block = '']) => block.split(/^\$ /m))
  .filter((text) => text.startsWith('voxform '))
  .map((text) => {
    const [line = '', ...output] = text.trimEnd().split('\n');
    return { args: line.split(' ').slice(1), output };
  })
  .filter(({ args }) => args[0] !== 'emulator' && args[0] !== '--version');

it('can be followed from the first command to the last', { timeout: 120_000 }, async () => {
  await using local = await startEmulator({ seed: 1 });
  await using own = await startEmulator({ seed: 2, workspaceId: '01JVQ7XK2MSTAGING000000001' });
  await using folder = await temporaryFolder();
  const env = { LOCAL_API_KEY: 'anything', OPENAI_API_KEY: 'anything', STAGING_API_KEY: 'anything' };
  const voices = path.join(folder.root, 'voices');
  const next = async (beginning: string, code = 0): Promise<void> => {
    const { args = [], output = [] } = commands.shift() ?? {};
    const words = args.join(' ');
    expect(words).toMatch(new RegExp(`^${beginning}`));
    const answers = /^(apply|accept)/.test(words) ? ['--auto-approve'] : [];
    const cwd = args[0] === 'init' ? folder.root : voices;
    const ended = await command([...args, ...answers], { cwd, env });
    expect(ended, `${words}\n${ended.stdout}${ended.stderr}`).toMatchObject({ code });
    const lines = withoutIds(ended.stdout + ended.stderr).split('\n');
    expect(lines).toEqual(expect.arrayContaining(withoutIds(output.join('\n')).split('\n')));
  };
  const edit = async (name: string, from: string, to: string): Promise<void> => {
    const text = await readFile(path.join(voices, name), 'utf8');
    expect(text).toContain(from);
    await folder.write(`voices/${name}`, text.replace(from, to));
  };

  await next('init');
  await edit('voxform.yaml', 'http://127.0.0.1:4010', local.url);
  for (const each of ['validate', 'plan', 'apply', 'plan']) await next(each);
  const [, from = '', to = ''] = /replace `([^`]*)` with `([^`]*)`/.exec(PAGE) ?? [];
  await edit('prompts/receptionist.md', from, to);
  for (const each of ['plan', 'apply']) await next(each);

  const [, workspace = ''] = /```yaml\n( {2}staging:[^`]*)```/.exec(PAGE) ?? [];
  await edit('voxform.yaml', 'workspaces:\n', `workspaces:\n${workspace.replace(/https:.*/, own.url)}`);
  await edit('manifests/numbers.yaml', '# inbound_agent_id', 'inbound_agent_id');
  for (const each of ['plan -w staging', 'apply -w staging', 'plan -w staging']) await next(each);
  const agent = inTheDashboard(own);
  await next('plan -w staging');
  own.dashboard.edit('agents', agent, { llm_config: { temperature: 0.5 } });
  await next('drift', 2);
  for (const each of ['accept', 'plan']) await next(each);
  expect(commands).toEqual([]);

  own.dashboard.edit('agents', agent, { prompt_config: { welcome_message: 'Juniper Dental, good day.' } });
  const accepted = await command(['accept', '-w', 'staging', '--auto-approve'], { cwd: voices, env });
  expect(accepted, 'the likeliest edit of all').toMatchObject({ code: 0 });
  expect(await readFile(path.join(voices, 'manifests/agents.yaml'), 'utf8')).toContain(
    'Juniper Dental, good day.',
  );

  const written = async <T>(name: string) => parse(await readFile(path.join(voices, name), 'utf8')) as T;
  const { env: inCi, jobs } = await written<Workflow>('.github/workflows/voxform.yml');
  const { workspaces } = await written<ProjectFile>('voxform.yaml');
  const { base_url: url, api_key: key } = workspaces[inCi?.VOXFORM_WORKSPACE ?? ''] ?? {};
  expect(url, 'CI reaches no workspace on this machine').toBe(own.url);
  const keys = Object.values(jobs).map(({ steps }) => steps.flatMap(({ env = {} }) => Object.keys(env)));
  expect(keys).toEqual(Object.keys(jobs).map(() => [key?.$secret, 'OPENAI_API_KEY']));
});

/** What the page has a person do in the dashboard. */
function inTheDashboard({ world, dashboard }: Emulator): string {
  const [agent = ''] = world.agents.keys();
  for (const number of world.numbers.keys()) dashboard.linkNumber(number, { inbound_agent_id: agent });
  dashboard.publishAgent(agent);
  return agent;
}

function withoutIds(text: string): string {
  return text.replaceAll(/\b01[0-9A-Z]{24}\b/g, '01…');
}
