import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type TwoWorkspaces, twoWorkspaces } from '../runs/two-workspaces.ts';

const manifest = (...names: readonly string[]) => `apiVersion: voxform/v1
kind: Agent
metadata: { name: support }
spec:
  name: Support
  prompt_config: { prompt: Be kind. }
  llm_config:
    knowledge_base_ids:
${names.map((name) => `      - { $ref: KnowledgeBase/${name} } # as written\n`).join('')}`;

const STAGING = '    knowledge_bases: { FAQ: FAQ staging, Prices: Old prices }\n';

/** Applies the agent in both workspaces. Knowledge bases have other names in staging. Returns the ids in staging. */
async function applied() {
  const both = await twoWorkspaces(manifest('FAQ', 'Hours'), { staging: STAGING });
  const add = (name: string, { dashboard }: TwoWorkspaces['staging']) => dashboard.addKnowledgeBase({ name }).id;
  const ids = {
    faq: add('FAQ staging', both.staging),
    hours: add('Hours', both.staging),
    prices: add('Old prices', both.staging),
    hidden: add('FAQ', both.staging),
  };
  for (const name of ['FAQ', 'Hours', 'Prices']) add(name, both.production);
  for (const workspace of ['staging', 'production'])
    expect(await both.run(['apply', '-w', workspace, '--auto-approve'])).toMatchObject({ code: 0 });
  const read = (file: string) => readFileSync(path.join(both.folder.root, file), 'utf8');
  return { ...both, ids, read, both };
}

const basesOf = ({ world }: TwoWorkspaces['staging']) =>
  [...world.agents.values()].map(({ llm_config }) => llm_config?.knowledge_base_ids);

describe('names of knowledge bases in a workspace', () => {
  it('select the record with that name, and other names keep their meaning', async () => {
    const { both, staging, production, ids, run } = await applied();
    await using _ = both;
    expect(basesOf(staging)).toEqual([[ids.faq, ids.hours]]);
    expect(basesOf(production)).toEqual([
      [...production.world.knowledgeBases.values()].slice(0, 2).map(({ id }) => id),
    ]);
    const diff = await run(['diff', 'staging', 'production', '--output', 'json']);
    expect(JSON.parse(diff.stdout)).toMatchObject({ summary: { same: 1, different: 0 } });
  });

  it('are shown in the step to create a missing record', async () => {
    await using both = await twoWorkspaces(manifest('FAQ'), { staging: STAGING });
    const plan = await both.run(['plan', '-w', 'staging', '--output', 'json']);
    const [resource] = (JSON.parse(plan.stdout) as { resources: { action: string; steps: unknown }[] }).resources;
    expect(resource?.action).toBe('manual');
    expect(JSON.stringify(resource?.steps)).toContain('FAQ staging');
  });

  it('are translated back when accept writes references', async () => {
    const { both, staging, ids, run, read } = await applied();
    await using _ = both;
    const [id = ''] = [...staging.world.agents.keys()];
    staging.dashboard.edit('agents', id, {
      llm_config: { knowledge_base_ids: [ids.hours, ids.prices, ids.hidden] },
    });
    expect(await run(['accept', '-w', 'staging', '--auto-approve'])).toMatchObject({ code: 0 });
    const written = parse(read('manifests/all.yaml')) as { spec: { llm_config: unknown } };
    expect(written.spec.llm_config).toEqual({
      knowledge_base_ids: [{ $ref: 'KnowledgeBase/Hours' }, { $ref: 'KnowledgeBase/Prices' }, ids.hidden],
    });
  });

  it('are translated back in an export, whose project contains them too', async () => {
    const { both, run, read, folder } = await applied();
    await using _ = both;
    expect(await run(['export', '-w', 'staging', '--out', 'copy'])).toMatchObject({ code: 0 });
    expect(read('copy/manifests/agents/support.yaml')).toContain('{ $ref: KnowledgeBase/FAQ }');
    const plan = await run(['plan', '-C', path.join(folder.root, 'copy'), '--output', 'json']);
    expect(plan, plan.stderr).toMatchObject({ code: 0 });
    expect(JSON.parse(plan.stdout)).toMatchObject({ summary: { adopt: 1, update: 0, manual: 0 } });
  });

  it('are refused if two are the same, and cause a warning if no manifest refers to them', async () => {
    const names = '    knowledge_bases: { FAQ: One, Prices: One }\n';
    await using both = await twoWorkspaces(manifest('FAQ'), { staging: names });
    const refused = await both.run(['validate', '-w', 'staging', '--output', 'json']);
    expect(refused.code).toBe(1);
    expect(refused.stdout).toContain('"duplicate-name"');

    await using unused = await twoWorkspaces(manifest('FAQ'), { staging: STAGING });
    const warned = await unused.run(['validate', '-w', 'staging', '--output', 'json']);
    expect(warned.code).toBe(0);
    expect(JSON.parse(warned.stdout)).toMatchObject({
      diagnostics: [{ severity: 'warning', code: 'unused-name', path: expect.stringContaining('Prices') }],
    });
  });
});
