import { describe, expect, it } from 'vitest';
import { ageText, lastPlan } from '../../editors/vscode/src/last-plan.ts';
import type { PlanDocument } from '../../src/engine/plan/plan-document.ts';
import { agentManifest, testWorkspace } from '../cli/workspace.ts';

describe('last plan', () => {
  it('shows whether each resource is in sync, changed, drifted or not created, with its dashboard link', async () => {
    const manifests = ['same', 'changed', 'drifted'].map((name) => [`manifests/${name}.yaml`, agentManifest(name)]);
    await using workspace = await testWorkspace(Object.fromEntries(manifests));
    const { folder, emulator } = workspace;
    expect((await workspace.run('apply', '--auto-approve')).code).toBe(0);
    const drifted = [...emulator.world.agents.values()].find(({ name }) => name === 'drifted');
    emulator.dashboard.edit('agents', drifted?.id ?? '', { name: 'Another' });
    await folder.write('manifests/changed.yaml', agentManifest('changed', 'Be brief.'));
    await folder.write('manifests/new.yaml', agentManifest('new'));
    const { stdout } = await workspace.run('plan', '--output', 'json');
    const document = JSON.parse(stdout) as PlanDocument;
    const dashboard = { Agent: 'https://app.example.com/agents/{id}' };
    const { results } = lastPlan({ ...document, dashboard }, 0);
    const texts = Object.entries(results).map(([address, { text }]) => [address, text]);
    expect(Object.fromEntries(texts)).toEqual({
      'Agent/same': 'in sync',
      'Agent/changed': '1 change',
      'Agent/drifted': 'drifted',
      'Agent/new': 'not created yet',
    });
    expect(results['Agent/drifted']?.url).toBe(`https://app.example.com/agents/${drifted?.id}`);
    expect(results['Agent/new']?.url).toBeUndefined();
  });

  it.each([
    [30_000, 'just now'],
    [61_000, '1 min ago'],
    [7_300_000, '2 h ago'],
    [400_000_000, '4 d ago'],
  ])('made %i ms ago is shown as made %s', (milliseconds, text) => {
    expect(ageText(milliseconds)).toBe(text);
  });
});
