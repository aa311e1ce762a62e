import { chmod, mkdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../src/values/json.ts';
import { step } from '../step.ts';
import { projectFile, type TestWorkspace, testWorkspace } from './workspace.ts';

const AGENTS = `# Our agents
apiVersion: voxform/v1
kind: Agent
metadata: { name: day }
spec:
  name: Day   # shown in the dashboard
  llm_config:
    model: 'gpt-4o'
    temperature: 0.5 # not too warm
    api_key: { $secret: LLM_KEY }
    knowledge_base_ids: []
  prompt_config:
    prompt: { $file: ../prompts/day.md }
---
apiVersion: voxform/v1
kind: Agent
metadata: { name: night }
spec:
  name: { $var: company }
  prompt_config: { prompt: Be quiet. }
`;

const USERS = `apiVersion: voxform/v1
kind: WorkspaceUser
metadata: { name: ann }
spec:
  email: ann@example.com
  role: member
  modules: []
  agent_ids:
    - { $ref: Agent/day } # days
`;

const NUMBERS = `{
  "apiVersion": "voxform/v1",
  "kind": "PhoneNumber",
  "metadata": {"name": "main"},
  "spec": {"number": "+12025550120", "nickname": "Main", "inbound_agent_id": null}
}
`;

const FILES = {
  'manifests/agents.yaml': AGENTS,
  'manifests/users.yaml': USERS,
  'manifests/numbers.json': NUMBERS,
  'prompts/day.md': 'Be kind.\n',
};

const PATCHES = `    vars: { company: Acme }
    patches:
      Agent/day:
        llm_config: { temperature: 0.2 } # cold here
`;

interface Applied {
  readonly ids: Readonly<Record<string, string>>;
  read(file: string): Promise<string>;
  run(...args: string[]): ReturnType<TestWorkspace['run']>;
  edit(address: string, patch: { readonly [field: string]: Json }): void;
}

/** Applies the workspace and returns its records' ids by address. */
async function applied(workspace: TestWorkspace): Promise<Applied> {
  const { folder, emulator } = workspace;
  await folder.write('voxform.yaml', projectFile(emulator, PATCHES));
  emulator.dashboard.inviteUser({ email: 'ann@example.com', role: 'member' });
  const faq = emulator.dashboard.addKnowledgeBase({ name: 'FAQ' }).id;
  const run: Applied['run'] = (...args) => workspace.runWith({ LLM_KEY: 'a-long-secret-key' }, ...args);
  expect(await run('apply', '--auto-approve')).toMatchObject({ code: 0 });
  const read: Applied['read'] = (file) => readFile(path.join(folder.root, file), 'utf8');
  const state = JSON.parse(await read('.voxform/test.state.json')) as {
    resources: Record<string, { id: string }>;
  };
  const ids = Object.fromEntries(Object.entries(state.resources).map(([address, { id }]) => [address, id]));
  return {
    ids: { ...ids, 'KnowledgeBase/FAQ': faq },
    run,
    read,
    edit: (address, patch) => {
      const collection = address.startsWith('Agent/') ? 'agents' : 'users';
      emulator.dashboard.edit(collection, ids[address] ?? '', patch);
    },
  };
}

describe('accept', () => {
  it('writes each drifted value to its source, so that the next plan has no changes', async () => {
    await using workspace = await testWorkspace(FILES);
    const { run, read, edit, ids } = await applied(workspace);
    // The response to the create of a number has no links. The second apply records that there are none.
    expect((await run('apply', '--auto-approve')).code).toBe(0);
    await step('values of an agent, a user and a number change in the dashboard', () => {
      edit('Agent/day', {
        name: 'Day shift',
        llm_config: {
          model: 'gpt-5',
          temperature: 0.9,
          knowledge_base_ids: [ids['KnowledgeBase/FAQ'] ?? ''],
        },
        prompt_config: { prompt: 'Be very kind.\nAlways.' },
      });
      edit('WorkspaceUser/ann', {
        role: 'admin',
        agent_ids: [ids['Agent/night'] ?? '', ids['Agent/day'] ?? ''],
      });

      workspace.emulator.dashboard.linkNumber(ids['PhoneNumber/main'] ?? '', {
        nickname: 'Front desk',
        inbound_agent_id: ids['Agent/night'] ?? '',
      });
    });

    const before = workspace.writes();
    const dry = await step('--dry-run shows the edits and writes nothing', async () => {
      const dry = await run('accept', '--dry-run');
      expect(dry).toMatchObject({ code: 0, stderr: '' });
      expect(dry.stdout).toContain('--- a/manifests/agents.yaml\n+++ b/manifests/agents.yaml\n@@ -3,12 +3,12 @@');
      expect(await read('manifests/agents.yaml')).toBe(AGENTS);
      return dry;
    });

    await step('accept makes these edits, each in the file that contains the value', async () => {
      const { code, stdout } = await run('accept', '--auto-approve');
      expect(code).toBe(0);
      expect(stdout).toBe(dry.stdout);
      expect(stdout).toContain('Accept: 9 values in 5 files.');
      expect(await read('manifests/agents.yaml')).toBe(
        AGENTS.replace('Day   #', 'Day shift   #')
          .replace("'gpt-4o'", "'gpt-5'")
          .replace('knowledge_base_ids: []', 'knowledge_base_ids: [{ $ref: KnowledgeBase/FAQ }]'),
      );
      expect(await read('manifests/numbers.json')).toBe(
        NUMBERS.replace('"Main"', '"Front desk"').replace('null', '{"$ref": "Agent/night"}'),
      );
      expect(await read('prompts/day.md')).toBe('Be very kind.\nAlways.\n');
      expect(await read('voxform.yaml')).toContain('        llm_config: { temperature: 0.9 } # cold here\n');
      expect(await read('manifests/users.yaml')).toBe(
        `${USERS.replace('member', 'admin')}    - { $ref: Agent/night }\n`,
      );
    });

    await step('plan, drift, apply and accept find no further changes', async () => {
      expect((await run('plan', '--detailed-exitcode')).code).toBe(0);
      expect((await run('drift')).code).toBe(0);
      expect((await run('apply', '--auto-approve')).code).toBe(0);
      expect(workspace.writes()).toBe(before);
      expect((await run('plan', '--detailed-exitcode')).code).toBe(0);
      const again = await run('accept', '--auto-approve');
      expect(again).toMatchObject({ code: 0, stdout: 'No drift to accept.\n' });
    });
  });

  it('writes the values that it can, reports the others and prints no secret', async () => {
    await using workspace = await testWorkspace(FILES);
    const { run, read, edit } = await applied(workspace);
    edit('Agent/night', { name: 'Acme & Sons', prompt_config: { prompt: 'Be silent.' } });
    const { code, stdout } = await run('accept', '--auto-approve', '--output', 'json');
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      workspace: 'test',
      written: true,
      files: [{ file: 'manifests/agents.yaml' }],
      accepted: [{ address: 'Agent/night', path: 'prompt_config.prompt', value: 'Be silent.' }],
      refused: [{ address: 'Agent/night', path: 'name', why: expect.stringContaining('variable company') as string }],
    });
    expect(await read('manifests/agents.yaml')).toBe(AGENTS.replace('Be quiet.', 'Be silent.'));
    expect(stdout).not.toContain('a-long-secret-key');
  });

  it('does not write a value that contains a secret, in accept or in rollback', async () => {
    await using workspace = await testWorkspace(FILES);
    const { ids, run, read, edit } = await applied(workspace);
    edit('Agent/night', { prompt_config: { prompt: 'Say a-long-secret-key.' } });
    workspace.emulator.dashboard.publishAgent(ids['Agent/night'] ?? '');
    for (const args of [['accept'], ['rollback', 'Agent/night', '--to', '1']]) {
      const { code, stdout } = await run(...args, '--auto-approve', '--output', 'json');
      expect([code, JSON.parse(stdout)]).toMatchObject([
        1,
        { files: [], refused: [{ path: 'prompt_config.prompt', why: 'the value contains a secret' }] },
      ]);
    }
    expect(await read('manifests/agents.yaml')).toBe(AGENTS);
  });

  it('prefers the value of the platform if the manifest changed too', async () => {
    await using workspace = await testWorkspace(FILES);
    const { run, read, edit } = await applied(workspace);
    edit('Agent/night', { prompt_config: { prompt: 'Be silent.' } });
    await workspace.folder.write(
      'manifests/agents.yaml',
      AGENTS.replace('Be quiet.', 'Be loud.').replace('Day ', 'Dawn '),
    );
    expect((await run('accept', '--auto-approve')).code).toBe(0);
    expect(await read('manifests/agents.yaml')).toBe(
      AGENTS.replace('Be quiet.', 'Be silent.').replace('Day ', 'Dawn '),
    );
    const { resources } = JSON.parse((await run('plan', '--output', 'json')).stdout) as {
      resources: { action: string; changes: { path: string }[] }[];
    };
    expect(resources.flatMap(({ changes }) => changes.map((change) => change.path))).toEqual(['name']);
  });

  it('accepts only the named resources, after approval, and reports missing records', async () => {
    await using workspace = await testWorkspace(FILES);
    const { run, read, edit, ids } = await applied(workspace);
    edit('Agent/day', { name: 'Day shift' });
    edit('WorkspaceUser/ann', { role: 'admin' });
    await step('only the named resources are accepted', async () => {
      const { code, stdout } = await run('accept', 'WorkspaceUser/ann', 'Agent/night', '--auto-approve');
      expect(code).toBe(0);
      expect(stdout).toContain('Agent/night has not drifted.');
      expect(await read('manifests/users.yaml')).toContain('role: admin');
      expect(await read('manifests/agents.yaml')).toBe(AGENTS);
    });

    await step('it refuses an unknown address', async () => {
      const misspelt = await run('accept', 'Agent/dya');
      expect(misspelt.stderr).toContain('error: Agent/dya: no such resource; did you mean "Agent/day"?');
      expect((await run('accept', 'day')).code).toBe(64);
    });

    await step('it writes nothing without approval', async () => {
      const unasked = await run('accept');
      expect(unasked.code).toBe(1);
      expect(unasked.stderr).toContain('--auto-approve');
      expect(await read('manifests/agents.yaml')).toBe(AGENTS);
    });

    await step('it cannot accept a missing record', async () => {
      workspace.emulator.dashboard.remove('agents', ids['Agent/night'] ?? '');
      const gone = await run('accept', '--dry-run');
      expect(gone.code).toBe(1);
      expect(gone.stdout).toMatch(/Agent\/night: .*missing/);
    });
  });

  it('keeps file modes and links, and does not follow a link out of the project', async () => {
    await using workspace = await testWorkspace(FILES);
    const { run, read, edit } = await applied(workspace);
    const at = (name: string): string => path.join(workspace.folder.root, name);
    await step('an edit keeps the mode of a file, and a link inside the project', async () => {
      await chmod(at('manifests/agents.yaml'), 0o640);
      await mkdir(at('texts'));
      await writeFile(at('texts/day.md'), 'Be kind.\n');
      await rm(at('prompts/day.md'));
      await symlink('../texts/day.md', at('prompts/day.md'));
      edit('Agent/day', { name: 'Day shift', prompt_config: { prompt: 'Be brief.' } });
      expect((await run('accept', '--auto-approve')).code).toBe(0);
      expect((await stat(at('manifests/agents.yaml'))).mode & 0o777).toBe(0o640);
      expect(await read('texts/day.md')).toBe('Be brief.\n');
      expect((await stat(at('prompts/day.md'))).isFile()).toBe(true);
    });

    await step('it refuses a link out of the project', async () => {
      const outside = path.join(workspace.folder.root, '..', `${path.basename(workspace.folder.root)}-outside.yaml`);
      await writeFile(outside, await read('manifests/agents.yaml'));
      await rm(at('manifests/agents.yaml'));
      await symlink(outside, at('manifests/agents.yaml'));
      edit('Agent/day', { name: 'Day and night' });
      const refused = await run('accept', '--auto-approve');
      expect(refused.code).toBe(1);
      expect(refused.stderr).toContain('a symbolic link points outside the project folder');
      expect(await readFile(outside, 'utf8')).toContain('Day shift');
      await rm(outside);
    });
  });
});
