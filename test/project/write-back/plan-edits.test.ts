import { readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { kinds, lookups } from '../../../src/kinds/index.ts';
import { loadProject } from '../../../src/project/load-project.ts';
import { selectWorkspace } from '../../../src/project/select-workspace.ts';
import type { EditPlan, WantedValue } from '../../../src/project/write-back/edit-plan.ts';
import { planEdits } from '../../../src/project/write-back/plan-edits.ts';
import { type Files, manifest, PLAIN_PROJECT, TemporaryProject } from '../temporary-project.ts';

const IDS: Readonly<Record<string, string>> = {
  'Agent/day': '01DAY',
  'Agent/night': '01NIGHT',
  'KnowledgeBase/FAQ': '01FAQ',
};

const env = { REGION: 'eu', LINE: 'a line' };

async function plan(project: TemporaryProject, wanted: readonly WantedValue[]): Promise<EditPlan> {
  const loaded = await loadProject({ cwd: project.root, env });
  const workspace = selectWorkspace(loaded, { name: undefined, env });
  const records = new Map(Object.entries(IDS));
  return planEdits({ project: loaded, workspace, kinds, lookups, env, wanted, records });
}

async function planned(files: Files, ...wanted: readonly WantedValue[]): Promise<EditPlan> {
  using project = new TemporaryProject(files);
  return await plan(project, wanted);
}

/** Returns the removed and added lines by file. */
function changes({ files }: EditPlan): Record<string, string[]> {
  return Object.fromEntries(
    files.map(({ file, before, after }) => {
      const [old, now] = [before.split('\n'), after.split('\n')];
      const gone = old.filter((line) => !now.includes(line)).map((line) => `-${line}`);
      return [file, [...gone, ...now.filter((line) => !old.includes(line)).map((line) => `+${line}`)]];
    }),
  );
}

function agent(name: string, spec: string): string {
  return manifest('Agent', name, `name: ${name}\n${spec}`);
}

const day = (leaf: string, value: WantedValue['value']): WantedValue => ({
  address: 'Agent/day',
  path: leaf,
  value,
});

function projectFile(more: string, top = ''): string {
  return `${PLAIN_PROJECT}${more.replace(/^/gm, '    ')}\n${top}`;
}

const PATCHED = projectFile('patches:\n  Agent/day:\n    llm_config: { temperature: 0.2 } # cold');

describe('values written to their layer', () => {
  it('edit the manifest if no other layer has the field', async () => {
    const result = await planned(
      { 'manifests/a.yaml': agent('day', 'llm_config:\n  model: gpt-4o # why') },
      day('llm_config.model', 'gpt-5'),
    );
    expect(changes(result)).toEqual({
      'manifests/a.yaml': ['-    model: gpt-4o # why', '+    model: gpt-5 # why'],
    });
    expect(result.refused).toEqual([]);
  });

  it('edit the patch of the workspace if it sets the field', async () => {
    const files = {
      'voxform.yaml': PATCHED,
      'manifests/a.yaml': agent('day', 'llm_config: { temperature: 0.5 }'),
    };
    const result = await planned(files, day('llm_config.temperature', 0.9));
    expect(changes(result)).toEqual({
      'voxform.yaml': [
        '-        llm_config: { temperature: 0.2 } # cold',
        '+        llm_config: { temperature: 0.9 } # cold',
      ],
    });
  });

  it('are null in a patch if null is the value', async () => {
    const voxform = projectFile('patches:\n  PhoneNumber/main: { inbound_agent_id: { $ref: Agent/day } }');
    const files = {
      'voxform.yaml': voxform,
      'manifests/a.yaml': `${agent('day', '')}---\n${manifest('PhoneNumber', 'main', 'number: "+12025550120"')}`,
    };
    const wanted = { address: 'PhoneNumber/main', path: 'inbound_agent_id', value: null };
    const result = await planned(files, wanted);
    expect(result.refused).toEqual([]);
    expect(changes(result)['voxform.yaml']?.[1]).toContain('{ inbound_agent_id: { $literal: null } }');
  });

  it('are refused if they come from defaults, with alternatives', async () => {
    const files = {
      'voxform.yaml': projectFile('', 'defaults: { Agent: { llm_config: { model: gpt-4o } } }\n'),
      'manifests/a.yaml': agent('day', 'llm_config: { temperature: 0.5 }'),
    };
    const result = await planned(files, day('llm_config.model', 'gpt-5'), day('llm_config.temperature', 1));
    expect(result.refused).toMatchObject([{ address: 'Agent/day', path: 'llm_config.model' }]);
    expect(result.refused[0]?.why).toMatch(
      /^the value comes from defaults\.Agent in voxform\.yaml.*set the field in its manifest/,
    );
    expect(changes(result)['manifests/a.yaml']).toHaveLength(2);
  });

  it('are added to the manifest if no layer has the field', async () => {
    const files = {
      'voxform.yaml': PATCHED,
      'manifests/a.yaml': agent('day', 'prompt_config: { prompt: Hi }'),
    };
    const result = await planned(files, day('tts_config.speed', 'fast'));
    expect(result.refused).toEqual([]);
    expect(changes(result)).toEqual({ 'manifests/a.yaml': ['+  tts_config:', '+    speed: fast'] });
  });

  it('can be removed', async () => {
    const files = {
      'voxform.yaml': PATCHED,
      'manifests/a.yaml': agent('day', 'llm_config:\n  model: gpt-4o\n  temperature: 0.5\ntts_config: { speed: slow }'),
    };
    const result = await planned(
      files,
      day('llm_config.model', undefined),
      day('llm_config.temperature', undefined),
      day('tts_config.speed', undefined),
      day('tts_config.voice_id', undefined),
    );
    expect(result.refused).toEqual([]);
    expect(changes(result)).toEqual({
      'manifests/a.yaml': ['-    model: gpt-4o', '-  tts_config: { speed: slow }', '+  tts_config: {}'],
      'voxform.yaml': [
        '-        llm_config: { temperature: 0.2 } # cold',
        '+        llm_config: { temperature: null } # cold',
      ],
    });
  });

  it('are not removed if a default would replace them', async () => {
    const files = {
      'voxform.yaml': projectFile('', 'defaults: { Agent: { llm_config: { model: gpt-4o } } }\n'),
      'manifests/a.yaml': agent('day', 'llm_config: { model: gpt-5 }'),
    };
    const result = await planned(files, day('llm_config.model', undefined));
    expect(result.refused[0]?.why).toBe('without the field, the default of its kind would apply');
  });
});

describe('texts written to their files', () => {
  const files: Files = {
    'manifests/a.yaml': `${agent('day', 'prompt_config: { prompt: { $file: ../prompts/p.md } }')}---\n${agent('night', '')}`,
    'prompts/p.md': '\ufeffOld.\r\n',
  };

  it('keep the final newline and the byte order mark', async () => {
    const result = await planned(files, day('prompt_config.prompt', 'New.\nText.'));
    expect(result.files).toEqual([{ file: 'prompts/p.md', before: '\ufeffOld.\r\n', after: '\ufeffNew.\nText.\r\n' }]);
  });

  it('end with a newline if they would otherwise lose their own', async () => {
    const result = await planned({ ...files, 'prompts/p.md': 'Old.' }, day('prompt_config.prompt', 'New.\n'));
    expect(result.files[0]?.after).toBe('New.\n\n');
  });

  it('go to the manifest if a file cannot contain them', async () => {
    const shown = { address: 'WorkspaceUser/ann', path: 'role', value: 'admin' };
    const user = manifest('WorkspaceUser', 'ann', 'email: ann@example.com\nrole: { $file: role.txt }');
    const result = await planned({ 'manifests/u.yaml': user, 'manifests/role.txt': 'member' }, shown);
    expect(result.files).toEqual([{ file: 'manifests/role.txt', before: 'member', after: 'admin' }]);
  });

  const shared: Files = {
    ...files,
    'manifests/b.yaml': agent('late', 'prompt_config: { prompt: { $file: ../prompts/p.md } }'),
  };
  const late = (value: string): WantedValue => ({
    ...day('prompt_config.prompt', value),
    address: 'Agent/late',
  });

  it('are refused if another resource uses the file and did not change', async () => {
    const result = await planned(shared, day('prompt_config.prompt', 'New.'));
    expect(result.files).toEqual([]);
    expect(result.refused[0]?.why).toBe(
      'the text is in prompts/p.md, which Agent/late spec.prompt_config.prompt also uses',
    );
  });

  it('are refused if another resource changed to a different text', async () => {
    const result = await planned(shared, day('prompt_config.prompt', 'New.'), late('Newer.'));
    expect(result.refused.map(({ address }) => address)).toEqual(['Agent/day', 'Agent/late']);
  });

  it('are written once if all users of the file changed identically', async () => {
    const result = await planned(shared, day('prompt_config.prompt', 'New.'), late('New.'));
    expect(result.refused).toEqual([]);
    expect(result.files.map(({ file }) => file)).toEqual(['prompts/p.md']);
  });

  it('are refused if a variable of a workspace uses the file', async () => {
    const voxform = projectFile('vars: { text: { $file: prompts/p.md } }');
    const result = await planned({ ...files, 'voxform.yaml': voxform }, day('prompt_config.prompt', 'New.'));
    expect(result.refused[0]?.why).toContain('voxform.yaml workspaces.test.vars.text also uses');
  });

  it('follow a link inside the project', async () => {
    using project = new TemporaryProject({
      'manifests/a.yaml': files['manifests/a.yaml'] ?? '',
      'prompts/real.md': 'Old.\n',
    });
    symlinkSync('real.md', path.join(project.root, 'prompts/p.md'));
    const result = await plan(project, [day('prompt_config.prompt', 'New.')]);
    expect(result.files.map(({ file }) => file)).toEqual(['prompts/real.md']);
    expect(readFileSync(path.join(project.root, 'prompts/real.md'), 'utf8')).toBe('Old.\n');
  });
});

describe('values written over value forms', () => {
  it.each([
    { form: '{ $var: line }', why: /^the value comes from the variable line of the workspace/ },
    { form: '{ $env: LINE }', why: /^the value comes from the environment variable LINE$/ },
  ])('are refused for $form', async ({ form, why }) => {
    const files = {
      'voxform.yaml': projectFile('vars: { line: Hello }'),
      'manifests/a.yaml': agent('day', `prompt_config: { prompt: ${form} }`),
    };
    const result = await planned(files, day('prompt_config.prompt', 'New.'));
    expect(result.files).toEqual([]);
    expect(result.refused[0]?.why).toMatch(why);
  });

  it.each([
    { text: 'Hi, this is Juniper.\nBye.', part: 'Hello', reason: 'the first part' },
    { text: 'Hello, this is Juniper.\nBy.', part: undefined, reason: 'a file' },
    { text: 'Hello, this is Larch.\nBye.', part: '$var', reason: 'a variable' },
    {
      text: 'Hi, this is Larch.\nBye.',
      part: 'Hello',
      reason: 'several: the first one',
    },
  ])('name file and line of the part of a joined string: $reason', async ({ text, part }) => {
    const joined = `
    prompt:
      $join:
        - "Hello, this is "
        - { $var: company }
        - { $file: ../prompts/bye.md }
      separator: ""`;
    const files = {
      'voxform.yaml': projectFile('vars: { company: Juniper }'),
      'manifests/a.yaml': agent('day', `prompt_config:${joined}`),
      'prompts/bye.md': '.\nBye.',
    };
    const result = await planned(files, day('prompt_config.prompt', text));
    expect(result.files).toEqual([]);
    const lines = files['manifests/a.yaml'].split('\n');
    const line = lines.findIndex((each) => part !== undefined && each.includes(part)) + 1;
    const place = part === undefined ? 'prompts/bye.md:2' : `manifests/a.yaml:${line}`;
    expect(result.refused[0]?.why).toMatch(new RegExp(`${place}(?!\\d)`));
  });

  it('are refused inside an object that is a variable', async () => {
    const files = {
      'voxform.yaml': projectFile('vars: { llm: { model: gpt-4o } }'),
      'manifests/a.yaml': agent('day', 'llm_config: { $var: llm }'),
    };
    const result = await planned(files, day('llm_config.model', 'gpt-5'));
    expect(result.refused[0]?.why).toMatch(/variable llm/);
  });

  it('edit a literal in place', async () => {
    const result = await planned(
      { 'manifests/a.yaml': agent('day', 'prompt_config: { prompt: { $literal: Old } }') },
      day('prompt_config.prompt', 'New'),
    );
    expect(changes(result)['manifests/a.yaml']?.[1]).toBe('+  prompt_config: { prompt: { $literal: New } }');
  });

  it('are references to known records, and ids otherwise', async () => {
    const user = `email: ann@example.com
role: member
agent_ids:
  - { $ref: Agent/night } # nights
  - 01OTHER`;
    const files = {
      'manifests/a.yaml': `${agent('day', '')}---\n${agent('night', '')}`,
      'manifests/u.yaml': manifest('WorkspaceUser', 'ann', user),
    };
    const value = ['01DAY', '01NEW', '01NIGHT'];
    const result = await planned(files, { address: 'WorkspaceUser/ann', path: 'agent_ids', value });
    expect(result.refused).toEqual([]);
    expect(result.files[0]?.after).toContain(
      'agent_ids:\n    - { $ref: Agent/night } # nights\n    - { $ref: Agent/day }\n    - 01NEW\n',
    );
  });

  it('are names for knowledge bases', async () => {
    const result = await planned(
      { 'manifests/a.yaml': agent('day', 'llm_config: { knowledge_base_ids: [] }') },
      day('llm_config.knowledge_base_ids', ['01FAQ']),
    );
    expect(changes(result)['manifests/a.yaml']?.[1]).toContain('knowledge_base_ids: [{ $ref: KnowledgeBase/FAQ }]');
  });

  it('change only the differing parts of an opaque value, and keep unchanged forms', async () => {
    const spec = `llm_config:
  tools:
    - type: transfer # one
      region: { $env: REGION }
      text: { $file: tool.md }
    - type: end`;
    const result = await planned(
      { 'manifests/a.yaml': agent('day', spec), 'manifests/tool.md': 'Say bye.\n' },
      day('llm_config.tools', [
        { type: 'transfer', region: 'eu', text: 'Say hello.' },
        { type: 'end', $odd: 1 },
      ]),
    );
    expect(result.refused).toEqual([]);
    expect(changes(result)).toEqual({
      'manifests/a.yaml': ['-      - type: end', '+      - $literal: { type: end, $odd: 1 }'],
      'manifests/tool.md': ['-Say bye.', '+Say hello.'],
    });
  });
});

describe('refused writes', () => {
  it.each([
    {
      reason: 'no manifest',
      wanted: { ...day('name', 'x'), address: 'Agent/none' },
      why: 'no manifest declares the resource',
    },
    {
      reason: 'a value that the kind does not allow',
      wanted: day('llm_config.temperature', 'hot'),
      why: /^the value is not valid in a manifest: llm_config\.temperature must be /,
    },
    { reason: 'an anchor that others use', wanted: day('name', 'x'), why: /&shared/ },
  ])('have a reason: $reason', async ({ wanted, why }) => {
    const text = agent('day', 'prompt_config: { prompt: *shared }').replace(
      'name: day\n  prompt',
      'name: &shared day\n  prompt',
    );
    const result = await planned({ 'manifests/a.yaml': text }, wanted);
    expect(result.files).toEqual([]);
    expect(result.refused[0]?.why).toMatch(why);
  });

  it('include an object that two layers define together', async () => {
    const voxform = projectFile('patches: { Webhook/hook: { payload: { b: 2 } } }');
    const hook = manifest('Webhook', 'hook', 'url: https://example.com\npayload: { a: 1 }');
    const wanted = { address: 'Webhook/hook', path: 'payload', value: { b: 3 } };
    const result = await planned({ 'voxform.yaml': voxform, 'manifests/h.yaml': hook }, wanted);
    expect(result.files).toEqual([]);
    expect(result.refused[0]?.why).toBe('the value cannot be written back safely');
  });

  it('include conflicts with another resource, and the rest is written', async () => {
    const user = (name: string): string => manifest('WorkspaceUser', name, `email: ${name}@example.com\nrole: member`);
    const files = {
      'manifests/u.yaml': ['ann', 'bob', 'cy'].map(user).join('---\n'),
      'manifests/a.yaml': agent('day', 'llm_config: { model: gpt-4o }'),
    };
    const wanted = (name: string, leaf: string, value: string): WantedValue => ({
      address: `WorkspaceUser/${name}`,
      path: leaf,
      value,
    });
    const result = await planned(
      files,
      wanted('ann', 'role', 'admin'),
      wanted('bob', 'email', 'ann@example.com'),
      wanted('cy', 'role', 'admin'),
      day('llm_config.model', 'gpt-5'),
    );
    expect(result.refused).toEqual([
      { address: 'WorkspaceUser/bob', path: 'email', why: 'the value cannot be written back safely' },
    ]);
    expect(result.files.map(({ file }) => file)).toEqual(['manifests/a.yaml', 'manifests/u.yaml']);
    expect(result.files[1]?.after.match(/role: admin/g)).toHaveLength(2);
  });
});
