import { describe, expect, it } from 'vitest';
import { hoverAt } from '../../src/editor/hover.ts';
import { manifest, PLAIN_PROJECT, TemporaryProject } from '../project/temporary-project.ts';
import { openSnapshot } from './open-snapshot.ts';

const FILES = {
  'voxform.yaml': `${PLAIN_PROJECT}    secrets_dir: secrets
    vars: { company: Acme, hidden: { $secret: COMPANY } }
    patches: { Agent/day: { llm_config: { temperature: 0.2 } } }
  other:
    base_url: https://platform.example.com
    workspace_id: 01JOTHER
    vars: { company: Bcme }
`,
  'manifests/a.yaml': manifest(
    'Agent',
    'day',
    `name: { $join: [{ $var: company }, line], separator: " " }
llm_config: { temperature: 0.7, api_key: { $secret: KEY }, modle: x }
prompt_config: { prompt: { $file: ../day.md }, welcome_message: { $join: [Hi, { $var: hidden }] } }`,
  ),
  'manifests/n.yaml': manifest('PhoneNumber', 'main', 'number: "+1"\ninbound_agent_id: { $ref: Agent/day }'),
  'fleet.yaml': 'version: 1\nretention: 90d\n',
  'manifests/b.yaml': manifest(
    'Agent',
    'b',
    'name: { $file: ../secrets/KEY }\nprompt_config: { prompt: { $file: ../../outside } }',
  ),
  'manifests/c.yaml': manifest('Agent', 'c', 'prompt_config: { prompt: { $file: ../leak.md } }'),
  'secrets/KEY': 'kept-in-a-folder',
  'leak.md': 'Say hush-hush.',
  'day.md': Array.from({ length: 20 }, (_, index) => `Line ${index} of \`\`\` code`).join('\n'),
};

const env = { COMPANY: 'hush-hush', KEY: 'quiet-please' };

async function hover(
  file: string,
  word: string,
  more: Readonly<Record<string, string | undefined>> = {},
): Promise<string> {
  const files = Object.entries({ ...FILES, ...more }).flatMap(([name, text]) =>
    text === undefined ? [] : [[name, text]],
  );
  using project = new TemporaryProject(Object.fromEntries(files));
  const snapshot = await openSnapshot(project.root, { workspace: 'test', env });
  const offset = (snapshot.textOf(file) ?? '').indexOf(word) + word.length - 1;
  return hoverAt(snapshot, file, offset)?.paragraphs.join('\n\n') ?? '';
}

describe('hover', () => {
  it.each<[reason: string, file: string, word: string, expected: readonly string[]]>([
    [
      'the description of a field, and its value in the workspace',
      'manifests/a.yaml',
      'temp',
      ['`Agent.llm_config.temperature`: number', 'Temperature (range', 'In test: `0.2`'],
    ],
    ['how a field is compared', 'manifests/a.yaml', 'api_k', ['Write-only: compared by fingerprint']],
    ['the description of a field at its value', 'manifests/a.yaml', '0.7', ['`Agent.llm_config.temperature`: number']],
    ['the description of metadata', 'manifests/a.yaml', 'nam', ['`metadata.name`: text, required']],
    ['the description of a kind', 'manifests/a.yaml', 'kin', ['`kind`', 'A voice agent']],
    [
      'the value of a variable in each workspace',
      'manifests/a.yaml',
      '$var: com',
      ['In test: `Acme`\n\nIn other: `Bcme`'],
    ],
    ['the result of a join', 'manifests/a.yaml', '$jo', ['In test: `Acme line`']],
    ['the beginning of a file', 'manifests/a.yaml', '../day', ['````\nLine 0 of ``` code', '… 8 more lines\n````']],
    ['the target of a reference', 'manifests/n.yaml', 'Agent/d', ['`Agent/day`: `manifests/a.yaml:1`']],
    ['the description of a field in a patch', 'voxform.yaml', 'temper', ['`Agent.llm_config.temperature`: number']],
    [
      'the description of a setting',
      'voxform.yaml',
      'base_u',
      ['`project.workspaces.<name>.base_url`', 'Base URL of the platform'],
    ],
    ['the description of a fleet setting', 'fleet.yaml', 'reten', ['Time for which runs are kept']],
  ])('contains %s', async (_, file, word, expected) => {
    const text = await hover(file, word);
    for (const each of expected) expect(text).toContain(each);
  });

  it.each([
    ['an unknown field', 'manifests/a.yaml', 'modl'],
    ['a top-level key', 'manifests/a.yaml', 'spec:'],
  ])('is empty for %s', async (_, file, word) => {
    expect(await hover(file, word)).toBe('');
  });

  it.each([
    ['in the folder of secrets', 'manifests/b.yaml', 'secrets/KE', ''],
    ['outside the project', 'manifests/b.yaml', '../outsid', ''],
    ['with a secret', 'manifests/c.yaml', '../lea', 'Say (secret).'],
  ])('does not contain the content of a file %s', async (_, file, word, expected) => {
    const text = await hover(file, word);
    expect(text).toContain(expected);
    expect(text).not.toMatch(/hush|kept|root:/);
    if (expected === '') expect(text).toMatch(/^`Agent/);
  });

  it.each([
    ['the name of a file', 'manifests/n.yaml', 'Agent/d'],
    ['the name of a secret', 'manifests/n.yaml', '$secret: "'],
    ['a variable', 'manifests/n.yaml', '$var: compa'],
  ])('contains no image or link of the project: %s', async (_, file, word) => {
    const image = '![x](https:&#47;&#47;example.com)';
    const text = await hover(file, word, {
      'voxform.yaml': FILES['voxform.yaml'].replace('Acme', JSON.stringify(`\`\` ${image} \`\``)),
      'manifests/a.yaml': undefined,
      [`manifests/${image}.yaml`]: manifest('Agent', 'day', 'name: Day'),
      'manifests/n.yaml': manifest(
        'PhoneNumber',
        'main',
        `number: { $secret: "${image}" }\nname: { $var: company }\ninbound_agent_id: { $ref: Agent/day }`,
      ),
    });
    expect(text).toContain('![x]');
    expect(text.replaceAll(/(?<!`)(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)/g, '')).not.toMatch(/!?\[x/);
  });

  it('never contains the value of a secret', async () => {
    const words = ['$secret: KE', 'welcome_mess', 'message: { $jo', '$var: hid', 'api_k'];
    const texts = await Promise.all(words.map((word) => hover('manifests/a.yaml', word)));
    const settings = await Promise.all(['hidd', '$secret: COMP', 'api_k'].map((word) => hover('voxform.yaml', word)));
    expect([...texts, ...settings].join('\n')).not.toMatch(/hush|quiet/);
    expect(texts[2]).toContain('(secret)');
    expect(texts[3]).toContain('In test: `(secret)`');
  });
});
