import assert from 'node:assert/strict';
import type { Case } from './cases.ts';
import { succeeded } from './expectations.ts';
import { type Bench, Lab } from './lab.ts';
import { manifest } from './manifests.ts';

const GROUP = 'dashboard edits';
const APPLY = ['apply', '--auto-approve'];

export const dashboardCases: readonly Case[] = [
  { group: GROUP, name: 'what an update may erase is named', short: true, run: mayErase },
];

/** A key and a voice that only the dashboard knows, on a platform that replaces: the plan names them before they are gone. */
async function mayErase(bench: Bench): Promise<void> {
  const agent = (speed: string, model: string) =>
    manifest('Agent', 'a', { name: 'a', tts_config: { speed }, llm_config: { model } });
  await using lab = await Lab.open(bench, {
    manifests: agent('slow', 'm1'),
    behaviour: { put: 'replace', shows: { read: ['llm_config'] } },
  });
  succeeded(await lab.run(...APPLY));
  const [id = ''] = lab.emulator.world.agents.keys();
  lab.emulator.dashboard.edit('agents', id, {
    llm_config: { api_key: 'sk-dashboard-key' },
    tts_config: { voice_id: 'their-voice' },
  });
  lab.write('manifests/all.yaml', agent('fast', 'm2'));
  const plan = await lab.run('plan');
  succeeded(plan, /resends all of llm_config: llm_config\.api_key/);
  succeeded(plan, /resends all of tts_config: [^:]*tts_config\.voice_id/);
  succeeded(await lab.run(...APPLY));
  assert.equal(lab.emulator.dashboard.holdsApiKey(id, 'sk-dashboard-key'), false);
  succeeded(await lab.run('plan'), /No changes/);
}
