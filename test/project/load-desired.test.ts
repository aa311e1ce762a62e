import { describe, expect, it } from 'vitest';
import { kinds, lookups } from '../../src/kinds/index.ts';
import type { Resource } from '../../src/manifests/resource.ts';
import { loadDesired } from '../../src/project/load-desired.ts';
import { loadProject } from '../../src/project/load-project.ts';
import { selectWorkspace } from '../../src/project/select-workspace.ts';
import { isTainted, Join, Reference, Secret, toForms, Unset } from '../../src/values/value.ts';
import { lineOf, loadFiles, manifest, PLAIN_PROJECT, TemporaryProject } from './temporary-project.ts';

const withWorkspace = (settings: string) => `${PLAIN_PROJECT}${settings.replace(/^/gm, '    ')}\n`;
const agent = (spec: string) => ({ 'manifests/agents/a.yaml': manifest('Agent', 'a', spec) });

async function only(...given: Parameters<typeof loadFiles>): Promise<Resource> {
  const { resources, diagnostics } = await loadFiles(...given);
  expect(diagnostics).toEqual([]);
  expect(resources).toHaveLength(1);
  return resources[0] as Resource;
}

describe('content of a manifest', () => {
  it('is complete', async () => {
    const text = `# A comment first.
apiVersion: voxform/v1
kind: Agent
metadata:
  name: support-line
  labels: { team: support }
  id: 01JAGENT
  previous_names: [old-name]
  ignore_drift: [tts_config.speed, llm_config]
  replace: allow
spec: { name: Support line }
`;
    expect(await only({ 'manifests/a.yml': text })).toEqual({
      address: 'Agent/support-line',
      kind: 'Agent',
      name: 'support-line',
      labels: { team: 'support' },
      id: '01JAGENT',
      previousNames: ['old-name'],
      ignoreDrift: ['tts_config.speed', 'llm_config'],
      mayReplace: true,
      spec: { name: 'Support line' },
      source: { file: 'manifests/a.yml', line: 2 },
    });
  });

  it('has the line of its own document', async () => {
    const documents = ['a', 'b', 'c'].map((name) => manifest('Agent', name, 'name: A'));
    const { resources } = await loadFiles({ 'manifests/a.yaml': `---\n${documents.join('---\n')}` });
    expect(resources.map(({ source }) => source.line)).toEqual([2, 9, 16]);
  });

  it('is ordered by address, regardless of file names', async () => {
    const { resources } = await loadFiles({
      'manifests/1.yaml': manifest('Webhook', 'w', 'url: https://example.com'),
      'manifests/2.json': JSON.stringify({
        apiVersion: 'voxform/v1',
        kind: 'Agent',
        metadata: { name: 'z' },
        spec: {},
      }),
      'manifests/deep/down/3.yaml': manifest('Agent', 'b', 'name: B'),
    });
    expect(resources.map(({ address }) => address)).toEqual(['Agent/b', 'Agent/z', 'Webhook/w']);
  });

  it('may contain anchors, aliases and merge keys', async () => {
    const spec = 'stt_config: &stt { provider: p, model: m }\ntts_config: { <<: *stt, model: other }';
    expect((await only(agent(spec))).spec).toEqual({
      stt_config: { provider: 'p', model: 'm' },
      tts_config: { provider: 'p', model: 'other' },
    });
  });
});

describe('value', () => {
  it('may be a reference', async () => {
    const spec = 'llm_config: { knowledge_base_ids: [{ $ref: KnowledgeBase/FAQ and more }] }';
    expect((await only(agent(spec))).spec).toEqual({
      llm_config: { knowledge_base_ids: [new Reference('KnowledgeBase', 'FAQ and more')] },
    });
  });

  it('may be the text of a file without its final newline, relative to the manifest', async () => {
    const spec = 'prompt_config: { prompt: { $file: ../../prompts/p.md }, welcome_message: { $file: hi.txt } }';
    const files = { 'prompts/p.md': '# Be nice\n\nAlways.\n\n', 'manifests/agents/hi.txt': 'Hi!\r\n' };
    expect((await only({ ...agent(spec), ...files })).spec).toEqual({
      prompt_config: { prompt: '# Be nice\n\nAlways.\n', welcome_message: 'Hi!' },
    });
  });

  it('may be an environment variable, or its default', async () => {
    const spec = 'name: { $env: NAME }\nllm_config: { model: { $env: MODEL, default: gpt } }';
    expect((await only(agent(spec), { env: { NAME: 'A' } })).spec).toEqual({
      name: 'A',
      llm_config: { model: 'gpt' },
    });
    const { name } = (await only(agent(spec))).spec;
    expect(name).toEqual(new Unset('NAME'));
  });

  it('may be a variable of any type', async () => {
    const project = withWorkspace(
      'vars:\n  count: 3\n  words: [oh, ah]\n  stt: { provider: p }\n  greeting: { $file: hi.txt }\n  key: { $secret: KEY }',
    );
    const spec = `stt_config: { $var: stt }
tts_config: { streaming_latency: { $var: count }, backchannel_words: { $var: words } }
prompt_config: { prompt: { $var: greeting } }
llm_config: { api_key: { $var: key } }`;
    const made = await only({ 'voxform.yaml': project, 'hi.txt': 'Hi!\n', ...agent(spec) }, { env: { KEY: 'k-1' } });
    expect(made.spec).toMatchObject({
      stt_config: { provider: 'p' },
      tts_config: { streaming_latency: 3, backchannel_words: ['oh', 'ah'] },
      prompt_config: { prompt: 'Hi!' },
    });
    expect(isTainted(made.spec)).toBe(true);
  });

  it('may be joined from others', async () => {
    const spec = `name: { $join: [a, 1, true], separator: "-" }
prompt_config: { prompt: { $join: [{ $env: FIRST }, { $join: [b, c], separator: "" }] } }`;
    expect((await only(agent(spec), { env: { FIRST: 'a' } })).spec).toEqual({
      name: 'a-1-true',
      prompt_config: { prompt: 'a\n\nbc' },
    });
  });

  it('is unchanged as a literal, including forms', async () => {
    const spec = 'llm_config: { tools: [{ $literal: { $ref: "#/defs/x", $secret: 1 } }] }';
    expect((await only(agent(spec))).spec).toEqual({
      llm_config: { tools: [{ $ref: '#/defs/x', $secret: 1 }] },
    });
  });

  it('may be a form inside tools and payloads', async () => {
    const spec = 'url: https://example.com\npayload: { token: { $secret: T }, agents: [{ $ref: Agent/a }] }';
    const { resources, diagnostics } = await loadFiles({
      'manifests/w.yaml': manifest('Webhook', 'w', spec),
      ...agent('name: A'),
    });
    expect(diagnostics).toEqual([]);
    expect(toForms(resources[1]?.spec ?? null)).toEqual({
      url: 'https://example.com',
      payload: { token: { $secret: 'T' }, agents: [{ $ref: 'Agent/a' }] },
    });
  });
});

describe('secret', () => {
  const files = {
    'voxform.yaml': withWorkspace('secrets_dir: secrets'),
    ...agent('llm_config: { api_key: { $secret: KEY } }\nname: { $join: [A, { $secret: KEY }] }'),
    'secrets/KEY': 'from-file\n\n',
  };

  it.each([
    { reason: 'the environment has priority', env: { KEY: 'from-env' }, expected: 'from-env' },
    { reason: 'one final newline of the file is removed', env: {}, expected: 'from-file\n' },
    { reason: 'an empty variable does not count', env: { KEY: '' }, expected: 'from-file\n' },
  ])('is read: $reason', async ({ env, expected }) => {
    const { llm_config, name } = (await only(files, { env, mode: 'live' })).spec as {
      llm_config: { api_key: Secret };
      name: Join;
    };
    expect(llm_config.api_key).toBeInstanceOf(Secret);
    expect(llm_config.api_key.reveal()).toBe(expected);
    expect(name).toBeInstanceOf(Join);
    expect(isTainted(name)).toBe(true);
  });

  it('appears in no printable value', async () => {
    const secret = 'sk-very-secret';
    const broken = agent('llm_config: { api_key: { $secret: KEY }, endpoint: { $secret: KEY }, modle: x }');
    const desired = await loadFiles({ ...files, ...broken }, { env: { KEY: secret }, mode: 'live' });
    expect(desired.diagnostics.map(({ code }) => code)).toEqual(['bad-format', 'unknown-field']);
    expect(JSON.stringify(desired)).not.toContain(secret);
  });
});

describe('project file', () => {
  it('applies defaults and patches to the manifests', async () => {
    const project = `${withWorkspace(`patches:
  Agent/a:
    name: Patched
    stt_config: { model: null }
    llm_config: { api_key: { $secret: B }, tools: [y] }
    prompt_config: { prompt: { $file: prompts/p.md } }
    tts_config: { emotion: { $literal: null } }`)}defaults:
  Agent:
    stt_config: { provider: p, model: m }
    llm_config: { api_key: { $secret: A }, model: gpt, tools: [x, z] }
    tts_config: { emotion: happy, speaker: { $env: SPEAKER, default: ann } }
`;
    const spec = `name: A
stt_config: { model: own }
llm_config: { model: { $literal: o1 } }`;
    const made = await only({ 'voxform.yaml': project, 'prompts/p.md': 'Be nice\n', ...agent(spec) });
    expect(toForms(made.spec)).toEqual({
      name: 'Patched',
      stt_config: { provider: 'p' },
      llm_config: { api_key: { $secret: 'B' }, model: 'o1', tools: ['y'] },
      prompt_config: { prompt: 'Be nice' },
      tts_config: { emotion: null, speaker: 'ann' },
    });
  });

  it('omits resources that the workspace skips', async () => {
    const { resources, diagnostics } = await loadFiles({
      'voxform.yaml': withWorkspace('skip: [PhoneNumber/*, Agent/b-*, "{Webhook,WorkspaceUser}/x"]'),
      'manifests/all.yaml': [
        manifest('PhoneNumber', 'n', 'number: "1"'),
        manifest('Agent', 'b-1', 'name: B'),
        manifest('Agent', 'c', 'name: C'),
        manifest('Webhook', 'x', 'url: https://example.com'),
      ].join('---\n'),
    });
    expect(diagnostics).toEqual([]);
    expect(resources.map(({ address }) => address)).toEqual(['Agent/c']);
  });

  it('is optional', async () => {
    using folder = new TemporaryProject({ 'x/manifests/deep/a.yaml': manifest('Agent', 'a', 'nam: A') });
    const env = { VOXFORM_BASE_URL: 'http://localhost:1', VOXFORM_WORKSPACE_ID: 'w', VOXFORM_API_KEY: 'k' };
    const project = await loadProject({ cwd: `${folder.root}/x`, env });
    const workspace = selectWorkspace(project, { name: undefined, env });
    const { diagnostics } = await loadDesired({ project, workspace, kinds, lookups, env, mode: 'live' });
    expect(diagnostics.map(lineOf)).toEqual([
      'manifests/deep/a.yaml:6:3 spec.nam unknown-field unknown field "nam"; did you mean "name"?',
    ]);
  });
});
