import { rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { agentManifest, testWorkspace } from './workspace.ts';

const USER = `apiVersion: voxform/v1
kind: WorkspaceUser
metadata: { name: ann }
spec: { email: ann@example.com, role: member, agent_ids: [{ $ref: Agent/day }] }
`;
const NUMBER = `apiVersion: voxform/v1
kind: PhoneNumber
metadata: { name: main }
spec: { number: "+12025550120", inbound_agent_id: { $ref: Agent/day } }
`;
const WITH_BASE = `apiVersion: voxform/v1
kind: Agent
metadata: { name: day }
spec: { name: day, llm_config: { provider: internal, knowledge_base_ids: [{ $ref: KnowledgeBase/FAQ }] } }
`;

describe('names for ids', () => {
  it('are printed in every format of a plan except JSON, without further requests', async () => {
    await using workspace = await testWorkspace({
      'manifests/day.yaml': WITH_BASE,
      'manifests/night.yaml': agentManifest('night'),
      'manifests/old.yaml': agentManifest('old'),
      'manifests/ann.yaml': USER,
      'manifests/number.yaml': NUMBER,
    });
    const { dashboard, world } = workspace.emulator;
    const { id: user } = dashboard.inviteUser({ email: 'ann@example.com', role: 'member' });
    const { id: faq } = dashboard.addKnowledgeBase({ name: 'FAQ' });
    const { id: prices } = dashboard.addKnowledgeBase({ name: 'Prices' });
    await workspace.run('apply', '--auto-approve');
    const idOf = (name: string) => [...world.agents.values()].find((each) => each.name === name)?.id ?? '';
    const [day, night, old] = [idOf('day'), idOf('night'), idOf('old')];
    await rm(path.join(workspace.folder.root, 'manifests/old.yaml'));
    await workspace.run('apply', '--auto-approve', '--allow-large-change');
    const stranger = '01STRANGER0000000000000000';
    dashboard.edit('users', user, { agent_ids: [night, old, stranger] });
    dashboard.edit('agents', day, { llm_config: { provider: 'internal', knowledge_base_ids: [prices] } });
    const [number = ''] = world.numbers.keys();
    dashboard.linkNumber(number, { inbound_agent_id: night });

    const named = [
      `Agent/day (${day})`,
      `Agent/night (${night})`,
      `former Agent/old (${old})`,
      `KnowledgeBase/FAQ (${faq})`,
      `KnowledgeBase/Prices (${prices})`,
    ];
    const before = workspace.emulator.requests.length;
    for (const form of ['text', 'markdown', 'html']) {
      const shown = (await workspace.run('plan', '--output', form)).stdout;
      // The terminal has 80 columns here. A wrapped value continues after a colon.
      const stdout = shown.replaceAll(/\n\s+(: +)?/g, ' ');
      for (const text of named) expect(stdout, form).toContain(text);
      expect(stdout, form).toContain(stranger);
      expect(stdout, form).not.toMatch(/\S \(01STRANGER/);
      expect(stdout, form).toContain(`set the inbound agent of number +12025550120 to Agent/day (${day}).`);
    }
    const paths = workspace.emulator.requests.slice(before).map(({ path }) => path.split('?', 1)[0] ?? '');
    const lists = ['knowledge-bases', 'numbers', 'users'];
    for (const list of lists) expect(paths.filter((path) => path.endsWith(list))).toHaveLength(3);
    expect(paths.filter((path) => /agents\/[^/]+$/.test(path))).toHaveLength(6);
    expect(paths).toHaveLength(3 * 5);

    const { resources } = JSON.parse((await workspace.run('plan', '--output', 'json')).stdout) as {
      resources: { address: string; changes: { before: unknown; names?: unknown }[] }[];
    };
    const [change] = resources.find(({ address }) => address === 'WorkspaceUser/ann')?.changes ?? [];
    expect(change?.before).toEqual([night, old, stranger]);
    expect(change?.names).toEqual({ [day]: 'Agent/day', [night]: 'Agent/night', [old]: 'former Agent/old' });
  });

  it('are printed in the step for a number whose manifest contains the id', async () => {
    await using workspace = await testWorkspace({ 'manifests/day.yaml': agentManifest('day') });
    await workspace.run('apply', '--auto-approve');
    const [day = ''] = workspace.emulator.world.agents.keys();
    await workspace.folder.write('manifests/number.yaml', NUMBER.replace('{ $ref: Agent/day }', day));
    const { stdout } = await workspace.run('plan');
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`to Agent/day (${day}).`);
  });
});
