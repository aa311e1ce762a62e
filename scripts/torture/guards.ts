import assert from 'node:assert/strict';
import { stepText } from '../../src/output/next-steps.ts';
import type { Case } from './cases.ts';
import { converges, refused, resourcesIn, succeeded, unwrapped, writesNothing } from './expectations.ts';
import { APPLY, type Bench, Lab } from './lab.ts';
import { agent, documents, emailOf, user, webhook } from './manifests.ts';

const GROUP = 'guards';

export const guardCases: readonly Case[] = [
  { group: GROUP, name: 'a large share of changes', run: largeChange },
  { group: GROUP, name: 'missing manifests', run: missingManifests },
  { group: GROUP, name: 'an owner among several', run: oneOwner },
  { group: GROUP, name: 'the last owner', short: true, run: lastOwner },
  { group: GROUP, name: 'a replacement', run: replacement },
];

const many = (prompt: string) =>
  documents(...Array.from({ length: 12 }, (_, index) => agent(`a${index}`, index < 7 ? prompt : 'As ever.')));

async function largeChange(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: many('Be kind.') });
  lab.write('manifests/all.yaml', many('Be brief.'));
  const guard = /7 of 12 managed resources would change, more than guards\.max_changed_percent allows \(50 %\)/;
  succeeded(await lab.run('plan'), guard);
  const result = await writesNothing(lab, () => lab.run(...APPLY));
  refused(result, guard);
  assert.match(unwrapped(result.stderr), /To apply the whole plan anyway: --allow-large-change/);
  refused(await writesNothing(lab, () => lab.run(...APPLY, '--allow-owner-change')), guard);
  await converges(lab, '--allow-large-change');
}

async function missingManifests(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: many('Be kind.') });
  lab.write('manifests/all.yaml', agent('a0'));
  refused(
    await writesNothing(lab, () => lab.run(...APPLY)),
    /12 of 12 managed resources would change|11 of 12 managed resources would change/,
  );
  await converges(lab, '--allow-large-change');
  assert.equal((await lab.state()).orphans.length, 11);
}

async function oneOwner(bench: Bench): Promise<void> {
  await using lab = await ownedLab(bench, ['ann', 'bob']);
  const result = await writesNothing(lab, () => lab.run(...APPLY));
  refused(result, /WorkspaceUser\/ann is a workspace owner, and its role would change/);
  assert.doesNotMatch(unwrapped(result.stderr), /without an owner/);
  assert.match(unwrapped(result.stderr), /--allow-owner-change/);
  await converges(lab, '--allow-owner-change');
}

async function lastOwner(bench: Bench): Promise<void> {
  await using lab = await ownedLab(bench, ['ann']);
  const result = await writesNothing(lab, () => lab.run(...APPLY));
  refused(result, /the workspace would be left without an owner.*--allow-owner-change/);
  refused(await writesNothing(lab, () => lab.run(...APPLY, '--allow-large-change')), /without an owner/);
  succeeded(await lab.run(...APPLY, '--allow-owner-change'));
  assert.equal([...lab.emulator.world.users.values()][0]?.role, 'member');
}

async function ownedLab(bench: Bench, owners: readonly string[]): Promise<Lab> {
  const lab = await Lab.open(bench, { manifests: agent('a') });
  for (const owner of owners) lab.emulator.dashboard.inviteUser({ email: emailOf(owner), role: 'owner' });
  succeeded(await lab.run(...APPLY));
  lab.write('manifests/more.yaml', user('ann', { role: 'member', modules: [], agent_ids: [] }));
  return lab;
}

async function replacement(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: documents(webhook('hook'), webhook('other')) });
  const old = (await lab.state()).resources.get('Webhook/hook')?.id;
  lab.write('manifests/all.yaml', documents(webhook('hook', { timeout: 99 }), webhook('other')));
  const planned = await lab.run('plan', '--output', 'json');
  const blocked = resourcesIn(planned.stdout).get('Webhook/hook');
  assert.equal(blocked?.action, 'blocked');
  const message = `${blocked?.reason} ${(blocked?.steps ?? []).map((step) => stepText(step, undefined)).join(' ')}`;
  assert.match(message, /--allow-replace Webhook\/hook/);
  assert.match(message, /orphan|still fires|stays|both/, `the consequence is missing: ${message}`);
  const writes = lab.writes();
  succeeded(await lab.run(...APPLY));
  refused(await lab.run(...APPLY, '--allow-replace', 'Webhook/hok'), /did you mean "Webhook\/hook"/, 64);
  assert.equal(lab.writes(), writes, 'the record was replaced without --allow-replace');

  succeeded(await lab.run(...APPLY, '--allow-replace', 'Webhook/hook'));
  const { resources, orphans } = await lab.state();
  assert.notEqual(resources.get('Webhook/hook')?.id, old);
  assert.deepEqual(
    orphans.map(({ id, reason }) => [id, reason]),
    [[old, 'replaced']],
  );
  await converges(lab);
  assert.equal(lab.emulator.world.webhooks.size, 3);
}
