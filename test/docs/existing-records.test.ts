import { rm } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { Voices } from './voices.ts';

const AGENT = '01KDVDNCXR9BT2FXHXPM7MWQFD';
const WEBHOOK = '01KDVDNGTR2JXWZ6N5NS7D624A';

/** Returns the records of a project without a state, like those of a new user. */
async function withoutState() {
  const voices = await Voices.open();
  await rm(path.join(voices.folder.root, '.voxform'), { recursive: true });
  const [agent = ''] = voices.emulator.world.agents.keys();
  const [webhook = ''] = voices.emulator.world.webhooks.keys();
  const [number = ''] = voices.emulator.world.numbers.keys();
  voices.emulator.dashboard.linkNumber(number, { inbound_agent_id: agent });
  return {
    voices,
    stands: [
      [AGENT, agent],
      [WEBHOOK, webhook],
    ] as const,
  };
}

it('docs/adopting.md imports single records', { tags: ['long'] }, async () => {
  const { voices, stands } = await withoutState();
  await using _ = voices;
  const page = voices.page('docs/adopting.md', 'Import single records');
  for (const [text, own] of stands) page.stand(text, own);
  await page.next('voxform import Agent');
  await rm(path.join(voices.folder.root, '.voxform'), { recursive: true });
  const rows = stands.map(([, id], index) => `${['Agent/receptionist', 'Webhook/appointments'][index]},${id}\n`);
  await voices.folder.write('ids.csv', `address,id\n${rows.join('')}`);
  await page.through('cat', 'voxform import --from');
  page.end();
  expect((await voices.run('plan', '--output', 'json')).stdout).toContain('"create": 0');
});

it('docs/adopting.md imports a whole workspace', { tags: ['long'] }, async () => {
  const { voices, stands } = await withoutState();
  await using _ = voices;
  const page = voices.page('docs/adopting.md', 'A whole workspace');
  for (const [text, own] of [...stands, ['https://api.example.com', voices.emulator.url] as const])
    page.stand(text, own);
  await page.through('export', 'voxform export', 'cd acme');
  const { stdout } = await page.next('voxform plan');
  expect(stdout).toMatch(/^Plan: 3 to import\./m);
  const writes = () => voices.emulator.requests.filter(({ method }) => method !== 'GET').length;
  const before = writes();
  await page.next('voxform apply');
  expect(writes()).toBe(before);
  page.end();
});

it('docs/adopting.md recovers a lost state', async () => {
  const { voices } = await withoutState();
  await using _ = voices;
  const page = voices.page('docs/adopting.md', 'When the state is lost');
  await page.next('voxform recover', { code: 2 });
  page.end();
});
