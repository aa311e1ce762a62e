/** @module-tag long */

import { describe, expect, it } from 'vitest';
import { type Emulator, startEmulator } from '../../../../src/emulator/start-emulator.ts';
import { http } from '../../../../src/state/backends/http/http-backend.ts';
import { readState } from '../../../../src/state/session.ts';
import type { State } from '../../../../src/state/state.ts';
import { createStore } from '../../../../src/state/state-location.ts';
import { type Folder, start, temporaryFolder, voxform } from '../../../cli/voxform-process.ts';
import { sessionOptions } from '../../temporary-state.ts';
import { type Rules, TerraformServer } from './terraform-server.ts';

const TOKEN = 'glpat-correct-horse';
const env = { API_KEY: 'key', STATE_TOKEN: TOKEN };

/** Creates a clone of the project, as every job has one. */
function clone({ url, workspaceId }: Emulator, server: TerraformServer, agents: number): Promise<Folder> {
  const settings = Object.entries(server.settings()).map(([key, value]) => `  ${key}: "${value}"`);
  const manifests = Array.from(
    { length: agents },
    (_, index) =>
      `apiVersion: voxform/v1\nkind: Agent\nmetadata: { name: a${index} }\nspec: { name: Agent ${index} }\n`,
  );
  return temporaryFolder({
    'voxform.yaml': `version: 1
state:
  backend: http
${settings.join('\n')}
  username: ann
  password: { $secret: STATE_TOKEN }
workspaces:
  staging: { base_url: "${url}", workspace_id: ${workspaceId}, api_key: { $secret: API_KEY } }
`,
    'manifests/agents.yaml': manifests.join('---\n'),
  });
}

async function stateIn(server: TerraformServer, { workspaceId }: Emulator): Promise<State> {
  const settings = { ...server.settings(), address: `${server.url}/state/staging` } as never;
  const user = { root: '/', host: '', user: '', pid: 1, version: '0.0.0', now: () => new Date() };
  const place = http.locate(settings, { workspace: 'staging', root: '/' });
  const { credentials } = server;
  server.credentials = undefined;
  const state = await readState(createStore({ backend: 'http', ...place }, user), sessionOptions({ workspaceId }));
  server.credentials = credentials;
  return state;
}

const namesIn = ({ world }: Emulator) => [...world.agents.values()].map(({ name }) => name).sort();
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `Agent ${index}`).sort();
const credentials = `ann:${TOKEN}`;

describe.each<Rules>(['gitlab', 'terraform'])('runs that share a state server with the rules of %s', (rules) => {
  it.each<'after'>(rules === 'gitlab' ? ['after'] : [])(
    'create no duplicates if responses are lost %s the operation',
    async (fault) => {
      await using emulator = await startEmulator();
      await using server = await TerraformServer.start({ rules, credentials });
      let count = 0;
      server.fault = () => (++count % 7 === 3 ? fault : undefined);
      const runs = [1, 2, 3].map(async () => {
        await using folder = await clone(emulator, server, 6);
        return await voxform(['apply', '--auto-approve', '--lock-timeout', '50s'], {
          cwd: folder.root,
          env,
        });
      });
      const ended = await Promise.all(runs);
      expect(ended.map(({ code, stderr }) => (code === 0 ? 0 : stderr))).toEqual([0, 0, 0]);
      expect(namesIn(emulator)).toEqual(numbered(6));
      server.fault = undefined;
      const state = await stateIn(server, emulator);
      expect(new Set([...state.resources.values()].map(({ id }) => id))).toEqual(new Set(emulator.world.agents.keys()));
      expect(server.locks.size).toBe(0);
      const shown = ended.map(({ stdout, stderr }) => stdout + stderr).join('');
      expect(shown + JSON.stringify([...server.versions])).not.toContain(TOKEN);
    },
  );

  it.each(rules === 'gitlab' ? [3] : [4])('lose nothing of a run that is killed at write %i', async (at) => {
    await using emulator = await startEmulator();
    await using server = await TerraformServer.start({ rules, credentials });
    await using folder = await clone(emulator, server, 6);
    const run = start(['apply', '--auto-approve', '--concurrency', '2'], { cwd: folder.root, env });
    server.fault = (step) => {
      if (step !== 'write' || server.count('write') !== at) return undefined;
      run.child.kill('SIGKILL');
      return at % 2 === 0 ? 'after' : 'before';
    };
    expect((await run.ended).signal).toBe('SIGKILL');
    const state = await stateIn(server, emulator);
    const known = [...state.resources.keys(), ...state.pending.keys()];
    const addresses = namesIn(emulator).map((name) => `Agent/a${name.slice('Agent '.length)}`);
    expect(known).toEqual(expect.arrayContaining(addresses));

    const { id = '' } = server.latest('/state/staging').voxform.lock ?? {};
    const unlock = await voxform(['state', 'unlock', id], { cwd: folder.root, env });
    expect(unlock.stderr).toBe('');
    await voxform(['apply', '--auto-approve'], { cwd: folder.root, env });
    const names = namesIn(emulator);
    expect(new Set(names).size).toBe(names.length);
    const after = await stateIn(server, emulator);
    expect(after.resources.size + after.pending.size).toBe(6);
    expect(server.locks.size).toBe(0);
  });
});

it('writes concurrent changes of a run once, and reads a plan once', async () => {
  await using emulator = await startEmulator();
  await using server = await TerraformServer.start({ credentials });
  await using folder = await clone(emulator, server, 64);
  const applied = await voxform(['apply', '--auto-approve', '--concurrency', '16'], {
    cwd: folder.root,
    env,
  });
  expect(applied.code).toBe(0);
  // A loaded machine sometimes splits concurrent changes into several writes.
  expect(server.count('write')).toBeLessThanOrEqual(64 / 16 + 4 + 2);
  server.requests.length = 0;
  const plan = await voxform(['plan', '-v'], { cwd: folder.root, env });
  expect(plan.code).toBe(0);
  expect(server.requests).toMatchObject([{ step: 'read' }]);
  expect(plan.stderr).toContain('state: GET');
  expect(plan.stderr).not.toContain(TOKEN);
});
