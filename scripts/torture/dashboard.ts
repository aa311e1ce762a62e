import assert from 'node:assert/strict';
import type { Case } from './cases.ts';
import { succeeded } from './expectations.ts';
import { APPLY, type Bench, Lab } from './lab.ts';
import { agent, documents, manifest } from './manifests.ts';

const GROUP = 'dashboard edits';

export const dashboardCases: readonly Case[] = [
  { group: GROUP, name: 'the plan names fields that an update may erase', short: true, run: mayErase },
  { group: GROUP, name: 'an agent that was deleted while a user refers to it', short: true, run: deletedBehind },
  { group: GROUP, name: 'publishing is a manual step', run: leftToPublish },
  { group: GROUP, name: 'a rename without previous_names', run: renamed },
];

/** A key and a voice were set only in the dashboard, and the platform replaces objects. The plan must name both before the update erases them. */
async function mayErase(bench: Bench): Promise<void> {
  const voiced = (speed: string, model: string) =>
    manifest('Agent', 'a', { name: 'a', tts_config: { speed }, llm_config: { model } });
  await using lab = await Lab.open(bench, {
    manifests: voiced('slow', 'm1'),
    behaviour: { put: 'replace', shows: { read: ['llm_config'] } },
  });
  succeeded(await lab.run(...APPLY));
  const [id = ''] = lab.emulator.world.agents.keys();
  lab.emulator.dashboard.edit('agents', id, {
    llm_config: { api_key: 'sk-dashboard-key' },
    tts_config: { voice_id: 'their-voice' },
  });
  lab.write('manifests/all.yaml', voiced('fast', 'm2'));
  const plan = await lab.run('plan', '--full');
  succeeded(plan, /resends all of llm_config: llm_config\.api_key/);
  succeeded(plan, /resends all of tts_config: [^:]*tts_config\.voice_id/);
  succeeded(await lab.run(...APPLY));
  assert.equal(lab.emulator.dashboard.holdsApiKey(id, 'sk-dashboard-key'), false);
  succeeded(await lab.run('plan'), /No changes/);
}

/** The manifest does not name the deleted agent, so the update of the user must succeed. */
async function deletedBehind(bench: Bench): Promise<void> {
  const ann = (spec: object) => manifest('WorkspaceUser', 'ann', { email: 'ann@example.com', ...spec });
  const both = [agent('a'), agent('b')];
  await using lab = await Lab.applied(bench, { manifests: documents(...both) });
  const { world, dashboard } = lab.emulator;
  const [kept = '', gone = ''] = world.agents.keys();
  const { id } = dashboard.inviteUser({ email: 'ann@example.com', role: 'member' });
  dashboard.edit('users', id, { agent_ids: [kept, gone] });
  world.agents.delete(gone);
  lab.write('manifests/all.yaml', documents(...both, ann({ modules: ['analytics'] })));
  succeeded(await lab.run(...APPLY), /agent_ids is resent without/);
  assert.deepEqual(world.users.get(id)?.agent_ids, [kept]);
  dashboard.edit('users', id, { role: 'billing' });
  lab.write('manifests/all.yaml', documents(...both, ann({ modules: [] })));
  succeeded(await lab.run(...APPLY), /does not accept the current role/);
  assert.deepEqual(world.users.get(id)?.modules, ['analytics']);
}

async function leftToPublish(bench: Bench): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: agent('a') });
  succeeded(await lab.run(...APPLY), /In the dashboard, publish it when it is ready/);
  const [id = ''] = lab.emulator.world.agents.keys();
  lab.emulator.dashboard.publishAgent(id);
  lab.write('manifests/all.yaml', agent('a', 'Be brief.'));
  succeeded(await lab.run(...APPLY), /publish it: callers may hear the published version until then/);
  const status = await lab.run('status', '--wait-published', '--timeout', '0');
  assert.equal(status.code, 1, 'status must wait for the publication');
  succeeded(await lab.run('status'), /publishing would change prompt_config\.prompt/);
}

async function renamed(bench: Bench): Promise<void> {
  const called = (name: string, more = {}) => manifest('Agent', name, { name: 'Desk' }, more);
  await using lab = await Lab.applied(bench, { manifests: called('old') });
  lab.write('manifests/all.yaml', called('new'));
  succeeded(await lab.run('plan'), /looks like a rename of Agent\/old\..* previous_names: \[old\]/);
  lab.write('manifests/all.yaml', called('new', { previous_names: ['old'] }));
  succeeded(await lab.run(...APPLY));
  assert.equal(lab.emulator.world.agents.size, 1);
}
