/** @module-tag long */

import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { expect, it } from 'vitest';
import { pathOf } from '../../src/page/views/parts.ts';
import { projectFile } from '../cli/workspace.ts';
import { KEY } from '../fleet/server-options.ts';
import { testFleet } from '../fleet/test-fleet.ts';
import { step } from '../step.ts';
import { command } from '../trust/in-process.ts';
import { readFleet } from './read-fleet.ts';
import { runningPage } from './running-page.ts';

const ADDRESS = 'voices/acme:test';
const USER = `apiVersion: voxform/v1
kind: WorkspaceUser
metadata: { name: ann }
spec: { email: ann@example.com, role: member, agent_ids: [{ $ref: Agent/agent-of-acme }] }
`;

it.each([
  ['local', 'state: { backend: local }', '.voxform/test.state.json'],
  ['git', 'state: { backend: git, remote: ./.voxform/states.git }', 'refs/voxform/test of '],
])(
  'shows the resources, orphans and runs of a workspace whose state is %s',
  {
    timeout: 90_000,
  },
  async (_, state, location) => {
    const { database, control, reports, folder, server, until, status, emulators } = await testFleet({
      projects: ['acme'],
      rules: 'workspaces: { "*": { mode: apply, interval: 1h } }',
      agents: ['night'],
    });
    const emulator = emulators.get('acme');
    if (emulator === undefined) throw new Error('there is no platform');
    execFileSync('git', ['init', '--quiet', '--bare', path.join(folder.root, 'acme/.voxform/states.git')]);
    await folder.write('acme/voxform.yaml', projectFile(emulator, state));
    await server();
    const source = readFleet({ database, control });
    await using page = await runningPage({ source, now: () => new Date() });
    const cookie = await page.signIn('admin-token');
    const get = (place: string) => page.ask(place, { headers: { cookie } });
    const workspace = pathOf(ADDRESS);
    const textOf = async () => (await get(workspace)).text;
    await until(async () => (await status(ADDRESS)) === 'in-sync');

    await step('every resource has its status and its id', async () => {
      const text = await textOf();
      for (const name of ['agent-of-acme', 'night']) {
        const row = new RegExp(`${name}</code></a></td>\\s*<td data-title="Status">[\\s\\S]{1,200}Id"><code>\\w+<`);
        expect(text).toMatch(row);
        const one = await get(pathOf(ADDRESS, 'resources', `Agent/${name}`));
        expect([one.status, one.text]).toEqual([200, expect.stringContaining('cannot read the state')]);
      }
      expect(text).toMatch(new RegExp(`<dt>State</dt><dd><bdi>${location}`));
      expect(text).toContain(`voxform fleet exec ${ADDRESS} -- history`);
    });
    await step('the page of a run lists the changes that it made', async () => {
      const [run = ''] = /\/workspaces\/voices\/acme:test\/runs\/\d+/.exec(await textOf()) ?? [];
      const { text } = await get(run);
      expect(text).toMatch(/night<[\s\S]*Action">create<[\s\S]*badge good">done[\s\S]*Id"><code>\w+</);
    });
    await step('an uneventful run writes none of them again', async () => {
      const kept = () =>
        database.query(
          `SELECT xmin::text FROM voxform_fleet.documents WHERE address = $1 AND kind = 'external-state'`,
          ADDRESS,
        );
      const before = await kept();
      expect(before).toHaveLength(1);
      const runs = reports.length;
      await control.run([ADDRESS], 'ann');
      await until(() => reports.length > runs);
      await until(async () => (await textOf()).includes('requested by <bdi>ann'));
      expect(await kept()).toEqual(before);
    });
    await step('the references point from and to resources in sync', async () => {
      const references = async () => {
        const [text = ''] = /<h2>References.*?<\/section>/s.exec(await textOf()) ?? [];
        return ['agent-of-acme', 'ann'].filter((name) => text.includes(`>${name}<`));
      };
      expect(await references()).toEqual([]);
      emulator.dashboard.inviteUser({ email: 'ann@example.com' });
      await folder.write('acme/manifests/ann.yaml', USER);
      await until(async () => (await references()).length > 0);
      await until(async () => (await textOf()).includes('1 in sync'));
      expect(await references()).toEqual(['agent-of-acme', 'ann']);
      for (const id of emulator.world.agents.keys()) emulator.dashboard.publishAgent(id);
      await control.run([ADDRESS], 'ann');
      await until(async () => (await textOf()).includes('3 in sync'));
      expect(await textOf()).not.toContain('For a person');
      expect(await references()).toEqual(['agent-of-acme', 'ann']);
    });
    await step('an orphan is listed with the command that closes it', async () => {
      await folder.write('acme/manifests/night.yaml', '# Nobody.\n');
      await until(async () => (await textOf()).includes('Orphans (1)'));
      const text = await textOf();
      const [, id = ''] = /<code>(\w+)<\/code> <span class="faint">forgotten/.exec(text) ?? [];
      expect(text).not.toContain('close-orphan');
      expect(text).toContain(`voxform fleet exec ${ADDRESS} -- orphans close ID --because deleted`);
      expect((await get(pathOf(ADDRESS, 'resources', 'Agent/night'))).status).toBe(404);
      const closing = pathOf(ADDRESS, 'actions', 'close-orphan');
      const refused = await get(`${closing}?of=${id}`);
      const close = `voxform fleet exec ${ADDRESS} -- orphans close ${id} --because deleted`;
      expect([refused.status, refused.text]).toEqual([409, expect.stringContaining(close)]);
      const form = await page.formToken(`${workspace}/actions/run`, cookie);
      const posted = await page.ask(closing, {
        headers: { cookie },
        form: { form, of: id, because: 'deleted' },
      });
      expect([posted.status, posted.text]).toEqual([409, expect.stringContaining(close)]);
      const closed = await command(close.split(' -- ')[1]?.split(' ') ?? [], {
        cwd: path.join(folder.root, 'acme'),
        env: { VOXFORM_API_KEY: KEY },
      });
      expect(closed).toMatchObject({ code: 0 });
      await control.run([ADDRESS], 'ann');
      await until(async () => !(await textOf()).includes('Orphans (1)'));
    });
    await step('right after a state was moved away, no resource is shown as removed', async () => {
      await control.pause([ADDRESS], { by: 'ann' });
      await database.query(`DELETE FROM voxform_fleet.documents WHERE address = $1`, ADDRESS);
      await database.query(
        `INSERT INTO voxform_fleet.states (name, write, generation, state) VALUES ($1, '', '', $2)`,
        ADDRESS,
        JSON.stringify({ moved_to: location, moved_at: '', lineage: '1', serial: 1, workspace_id: '1' }),
      );
      const unread = 'unknown until a run has read the platform';
      expect(await textOf()).toContain(unread);
      const { status: code, text } = await get(pathOf(ADDRESS, 'resources', 'Agent/agent-of-acme'));
      expect([code, text]).toEqual([404, expect.stringContaining(unread)]);
    });
  },
);
