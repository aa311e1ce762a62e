import { expect, it } from 'vitest';
import type { PlanDocument } from '../../src/engine/plan/plan-document.ts';
import { stepTexts } from '../step-texts.ts';
import { agentManifest, testWorkspace } from './workspace.ts';

it('plan suggests the record of a lost create to which a number refers, with the evidence', async () => {
  await using workspace = await testWorkspace({
    'manifests/agents.yaml': `${agentManifest('day')}---\n${agentManifest('night', 'Be quiet.')}`,
  });
  const { emulator } = workspace;
  emulator.faults.add({ match: { method: 'POST' }, times: 2, fault: { cut: 'after' } });
  await workspace.run('apply', '--auto-approve');
  const [day] = [...emulator.world.agents.values()].filter(({ name }) => name === 'day');
  const number = await fetch(`${emulator.url}/api/v1/numbers`, {
    method: 'POST',
    headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
    body: JSON.stringify({ number: '+12025550120' }),
  });
  const { data } = (await number.json()) as { data: { id: string } };
  emulator.dashboard.linkNumber(data.id, { inbound_agent_id: day?.id });

  const { stdout } = await workspace.run('plan', '--output', 'json');
  const plan = JSON.parse(stdout) as PlanDocument;
  const steps = new Map(plan.resources.map((each) => [each.address, stepTexts(each)]));
  expect(steps.get('Agent/day')?.[0]).toBe(
    `Possibly ${day?.id}: number +12025550120 is linked to it; name, prompt_config.prompt match. If this is the record: voxform import Agent/day ${day?.id}`,
  );
  expect(steps.get('Agent/night')?.join('\n')).not.toContain('It may be');

  await workspace.run('import', 'Agent/day', day?.id ?? '');
  await workspace.run('state', 'resolve', 'Agent/night', '--not-created');
  const after = JSON.parse((await workspace.run('plan', '--output', 'json')).stdout) as {
    resources: { address: string; action: string }[];
  };
  expect(after.resources.map(({ address, action }) => [address, action])).toEqual([
    ['Agent/day', 'noop'],
    ['Agent/night', 'create'],
  ]);
});
