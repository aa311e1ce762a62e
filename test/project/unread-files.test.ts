import { describe, expect, it } from 'vitest';
import { lineOf, loadFiles, manifest, PLAIN_PROJECT } from './temporary-project.ts';

const broken = manifest('Agent', 'sales', 'name: "Sales\nlanguage: en');
const SYNTAX = 'manifests/agents.yaml:6:9 - yaml-syntax unclosed quote';
const number = (agent: string) =>
  manifest('PhoneNumber', 'main', `number: "+12025550100"\ninbound_agent_id: { $ref: Agent/${agent} }`);

async function linesOf(files: Readonly<Record<string, string | Uint8Array>>): Promise<string[]> {
  return (await loadFiles(files)).diagnostics.map(lineOf);
}

describe('unreadable file', () => {
  it('prevents errors about references to its possible resources, and is reported once', async () => {
    const files = { 'manifests/agents.yaml': broken, 'manifests/number.yaml': number('sales') };
    expect(await linesOf(files)).toEqual([
      SYNTAX,
      'manifests/agents.yaml:6:9 - warning unchecked-references references to Agent/sales were not checked, because this file may declare it',
    ]);
  });

  it('hides no reference to a name that it does not contain', async () => {
    const files = { 'manifests/agents.yaml': broken, 'manifests/number.yaml': number('support') };
    expect(await linesOf(files)).toEqual([
      SYNTAX,
      'manifests/number.yaml:7:29 spec.inbound_agent_id dangling-reference no manifest declares Agent/support',
    ]);
  });

  it('may declare anything if it is not text', async () => {
    const files = {
      'manifests/agents.yaml': new Uint8Array([0xff]),
      'manifests/number.yaml': number('support'),
    };
    expect((await linesOf(files)).map((line) => line.split(' ').slice(0, 4).join(' '))).toEqual([
      'manifests/agents.yaml:1:1 - invalid-utf8 the',
      'manifests/agents.yaml:1:1 - warning unchecked-references',
    ]);
  });

  it.each([
    { reason: 'its kind is misspelled', kind: 'agent', codes: ['unknown-kind'] },
    { reason: 'its kind is unknown', kind: 'Bot', codes: ['unknown-kind', 'unchecked-references'] },
    { reason: 'it has no kind', kind: undefined, codes: ['missing-field', 'unchecked-references'] },
  ])('is not the cause of reference errors if $reason', async ({ kind, codes }) => {
    const agent = manifest('Agent', 'sales', 'name: Sales');
    const files = {
      'manifests/agents.yaml': agent.replace('kind: Agent\n', kind === undefined ? '' : `kind: ${kind}\n`),
      'manifests/number.yaml': number('sales'),
    };
    const { diagnostics } = await loadFiles(files);
    expect(diagnostics.map(({ code }) => code).sort()).toEqual(codes.toSorted());
  });

  it('may declare resources that a workspace patches and skips', async () => {
    const settings = '    patches: { Agent/sales: { name: S } }\n    skip: [Agent/sal*]\n';
    const files = { 'voxform.yaml': PLAIN_PROJECT + settings, 'manifests/agents.yaml': broken };
    expect(await linesOf(files)).toEqual([
      SYNTAX,
      'manifests/agents.yaml:6:9 - warning unchecked-references references to Agent/sales and 1 more were not checked, because this file may declare them',
    ]);
  });

  it('is reported identically by any thread', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 400 }, (_, index) => [
        `manifests/big-${index}.yaml`,
        manifest('Agent', `big-${index}`, `name: Big\nprompt_config: { prompt: "${'x'.repeat(3_000)}" }`),
      ]),
    );
    const last = { 'manifests/zz.yaml': broken, 'manifests/zy.yaml': number('sales') };
    const alone = await linesOf(last);
    expect(alone).toHaveLength(2);
    expect(await linesOf({ ...many, ...last })).toEqual(alone);
  });
});
