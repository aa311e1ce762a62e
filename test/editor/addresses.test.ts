import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { literalsIn } from '../../src/editor/address-places.ts';
import { definitionsAt, placesIn, referencesAt } from '../../src/editor/find-references.ts';
import { manifest, PLAIN_PROJECT, TemporaryProject } from '../project/temporary-project.ts';
import { openSnapshot } from './open-snapshot.ts';

const FILES = {
  'voxform.yaml': `${PLAIN_PROJECT}    vars: { company: Acme }
    patches: { "Agent/day": { name: Day } }
    skip: [Agent/night, "Agent/*-test"]
  other:
    base_url: https://platform.example.com
    workspace_id: 01JOTHER
    vars: { company: Bcme }
default_workspace: other
policies:
  - name: lasts
    kind: Agent
    warn: name in ["day"] || name == "d\\x61y"
`,
  'manifests/a.yaml': `${manifest('Agent', 'day', 'name: { $var: company }\nprompt_config: { prompt: { $file: ../day.md } }')}---\n${manifest('Agent', 'night', '')}`,
  'manifests/n.yaml': manifest(
    'PhoneNumber',
    'main',
    'number: "+1"\ninbound_agent_id: &who { $ref: Agent/day }\noutbound_agent_id: *who',
  ),
  'manifests/c.yaml': manifest('Agent', 'new', 'name: { $literal: { $ref: Agent/day } }').replace(
    'name: new',
    'name: new\n  previous_names:\n    - old',
  ),
  'day.md': 'Be nice.\n',
};

/** Returns each location as file, line and text. */
async function found(file: string, word: string, find: 'definitions' | 'references'): Promise<string[]> {
  using project = new TemporaryProject(FILES);
  const snapshot = await openSnapshot(project.root, { workspace: 'test' });
  const offset = (snapshot.textOf(file) ?? '').indexOf(word) + word.length;
  const places =
    find === 'definitions'
      ? definitionsAt(snapshot, file, offset)
      : referencesAt(snapshot, { file, offset, withDeclaration: true });
  return places.map(({ file: at, start, end }) => {
    const text = snapshot.textOf(at) ?? '';
    const line = text.slice(0, start).split('\n').length;
    return `${at}:${line} ${text.slice(start, end)}`;
  });
}

describe('definitionsAt', () => {
  it.each([
    ['a reference', 'manifests/n.yaml', 'Agent/d', ['manifests/a.yaml:4 day']],
    ['a patch', 'voxform.yaml', '"Agent/d', ['manifests/a.yaml:4 day']],
    ['a skip', 'voxform.yaml', '[Agent/n', ['manifests/a.yaml:12 night']],
    ['a former name', 'manifests/c.yaml', '- ol', ['manifests/c.yaml:4 new']],
    ['a name in a rule', 'voxform.yaml', 'in ["da', ['manifests/a.yaml:4 day']],
    [
      'a variable, with the selected workspace first',
      'manifests/a.yaml',
      '$var: com',
      ['voxform.yaml:7 company', 'voxform.yaml:13 company'],
    ],
    ['a file', 'manifests/a.yaml', '../d', ['day.md:1 ']],
    ['a workspace', 'voxform.yaml', 'default_workspace: ot', ['voxform.yaml:10 other']],
    ['nothing for other words', 'manifests/a.yaml', 'apiVer', []],
  ])('finds %s', async (_, file, word, expected) => {
    expect(await found(file, word, 'definitions')).toEqual(expected);
  });

  it.each([
    ['call-centre', 'staging'],
    ['migration', 'trial'],
  ])('finds the target of every reference in %s', async (name, workspace) => {
    const snapshot = await openSnapshot(path.resolve(import.meta.dirname, '../../examples', name), {
      workspace,
    });
    const references = snapshot.files.flatMap((file) => placesIn(snapshot, file).map((place) => ({ file, place })));
    const resources = references.filter(({ place }) => place.type === 'reference' && place.kind !== 'KnowledgeBase');
    for (const { file, place } of resources) {
      const [definition, ...others] = definitionsAt(snapshot, file, place.range.start);
      expect(others).toEqual([]);
      const text = snapshot.textOf(definition?.file ?? '') ?? '';
      expect(text.slice(definition?.start, definition?.end)).toBe(place.name);
      expect(text.slice(0, definition?.start)).toMatch(new RegExp(`kind: ${place.kind}\\nmetadata:\\n  name: $`));
    }
    expect(resources.length).toBeGreaterThan(1);
  });
});

describe('referencesAt', () => {
  it('finds a resource in every kind of location', async () => {
    expect(await found('manifests/a.yaml', 'name: d', 'references')).toEqual([
      'manifests/a.yaml:4 day',
      'manifests/n.yaml:7 Agent/day',
      'manifests/n.yaml:8 *who',
      'voxform.yaml:8 Agent/day',
      'voxform.yaml:18 day',
      expect.stringMatching(/^voxform.yaml:18 /),
    ]);
  });

  const variable = ['manifests/a.yaml:6 company', 'voxform.yaml:7 company', 'voxform.yaml:13 company'];
  const prompt = ['manifests/a.yaml:7 ../day.md'];
  const workspace = ['voxform.yaml:10 other', 'voxform.yaml:14 other'];

  it.each([
    ['a variable, from a use', 'manifests/a.yaml', '$var: com', variable],
    ['a variable, from its setting', 'voxform.yaml', 'vars: { com', variable],
    ['a file, from a use', 'manifests/a.yaml', '../d', prompt],
    ['a file, from its text', 'day.md', 'nice', prompt],
    ['a workspace', 'voxform.yaml', 'default_workspace: ot', workspace],
    ['a workspace, from its name', 'voxform.yaml', '  oth', workspace],
    ['other words', 'manifests/a.yaml', 'apiVer', []],
  ])('finds references to %s', async (_, file, word, expected) => {
    expect(await found(file, word, 'references')).toEqual(expected);
  });

  it('omits the settings of a variable without declarations', async () => {
    using project = new TemporaryProject(FILES);
    const snapshot = await openSnapshot(project.root, { workspace: 'test' });
    const offset = FILES['voxform.yaml'].indexOf('company');
    const places = referencesAt(snapshot, { file: 'voxform.yaml', offset, withDeclaration: false });
    expect(places.map(({ file }) => file)).toEqual(['manifests/a.yaml']);
  });

  it('finds references in an invalid file', async () => {
    using project = new TemporaryProject(FILES);
    const texts = {
      'manifests/n.yaml': `${FILES['manifests/n.yaml']}  nickname: [\n---\nspec: { inbound_agent_id: { $ref: Agent/day`,
    };
    const snapshot = await openSnapshot(project.root, { workspace: 'test', texts });
    const places = referencesAt(snapshot, {
      file: 'manifests/a.yaml',
      offset: FILES['manifests/a.yaml'].indexOf('day'),
      withDeclaration: false,
    });
    expect(places.filter(({ file }) => file === 'manifests/n.yaml')).toHaveLength(3);
  });
});

describe('literalsIn', () => {
  it.each([
    ['name == "day"', [{ value: 'day', comparedWith: 'name', offset: 9 }]],
    ['"day" != resource.name', [{ value: 'day', comparedWith: 'name', offset: 1 }]],
    [
      "resource.address in ['Agent/day', r'Agent/night']",
      [
        { comparedWith: 'address', offset: 22 },
        { comparedWith: 'address', offset: 36 },
      ],
    ],
    ['name.startsWith("day") && name == "day"', [{ comparedWith: undefined }, { comparedWith: 'name', offset: 35 }]],
    [
      '["day"].exists(each, name == each || name == "day")',
      [{ comparedWith: undefined }, { comparedWith: 'name', offset: 47 - 2 + 1 }],
    ],
    ['spec.name == "day"', [{ comparedWith: undefined }]],
    [
      '{"day": name == "night"}["day"]',
      [{ comparedWith: undefined }, { comparedWith: 'name' }, { comparedWith: undefined }],
    ],
    ['name == "d\\u0061y"', [{ value: 'day', comparedWith: 'name', offset: undefined }]],
    ['name ==', []],
  ])('finds the literals in %s', (condition, expected) => {
    const literals = literalsIn(condition);
    expect(literals).toMatchObject(expected);
    expect(literals).toHaveLength(expected.length);
    for (const { value, offset } of literals)
      if (offset !== undefined) expect(condition.startsWith(value, offset)).toBe(true);
  });
});
