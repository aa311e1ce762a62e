import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { placesOf } from '../../src/editor/find-references.ts';
import { type RenameResult, renameAt } from '../../src/editor/rename.ts';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import type { PlanDocument } from '../../src/engine/plan/plan-document.ts';
import { applySplices } from '../../src/manifests/editing/change.ts';
import { parseDocuments } from '../../src/manifests/parse-documents.ts';
import { layout, written } from '../manifests/editing/any-yaml.ts';
import { manifest, PLAIN_PROJECT, TemporaryProject } from '../project/temporary-project.ts';
import { command } from '../trust/in-process.ts';
import { openSnapshot } from './open-snapshot.ts';

const cleanups: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of cleanups.splice(0).reverse()) await close();
});

interface RenameOptions {
  readonly root: string;
  readonly from: string;
  readonly to: string;
  readonly workspace?: string;
  readonly texts?: Record<string, string>;
  readonly before?: Record<string, string>;
}

/** Requests a rename where a resource is declared or, without a declaration, where its name occurs. */
async function renaming({ root, from, to, ...options }: RenameOptions): Promise<RenameResult> {
  const snapshot = await openSnapshot(root, options);
  const places = placesOf(snapshot, from);
  const place = places.find(({ type }) => type === 'declaration') ?? places[0];
  if (place === undefined) throw new Error(`${from} stands nowhere`);
  return renameAt(snapshot, { file: place.file, offset: place.range.end, newName: to });
}

/** Renames a resource on the disk. Returns the notes about rules. */
async function rename(options: RenameOptions): Promise<readonly string[]> {
  const result = await renaming(options);
  if ('refused' in result) throw new Error(result.refused);
  for (const [file, edits] of Map.groupBy(result.edits, (each) => each.file)) {
    const at = path.join(options.root, file);
    const before = readFileSync(at, 'utf8');
    const mark = before.startsWith('\ufeff') ? '\ufeff' : '';
    writeFileSync(at, mark + applySplices(before.slice(mark.length), edits));
  }
  return result.notes;
}

const DAY = { 'manifests/day.yaml': manifest('Agent', 'day', '') };

/** Returns the reason why a rename is refused after these files changed in a valid project. */
async function refusal(files: Record<string, string>, to: string): Promise<string> {
  using project = new TemporaryProject(DAY);
  const before = { 'voxform.yaml': PLAIN_PROJECT, ...DAY };
  const options = { root: project.root, from: 'Agent/day', to, workspace: 'test', before };
  for (const file of Object.keys(files)) project.write({ [file]: '' });
  const result = await renaming({ ...options, texts: { ...DAY, ...files } });
  return 'refused' in result ? result.refused : 'nothing';
}

const phone = (spec: string): string => manifest('PhoneNumber', 'main', `number: "+12025550100"\n${spec}`);
const settings = (more: string, top = ''): string => `${PLAIN_PROJECT}${more.replace(/^/gm, '    ')}\n${top}`;

describe('rename', () => {
  it.each<[reason: string, file: string, before: string, after: string]>([
    ['in brackets', 'manifests/n.yaml', phone('inbound_agent_id: { $ref: Agent/day } # by day'), ''],
    ['in block form', 'manifests/n.yaml', phone('inbound_agent_id:\n  $ref: Agent/day'), ''],
    ['in single quotes', 'manifests/n.yaml', phone("inbound_agent_id: { '$ref': 'Agent/day' }"), ''],
    ['in double quotes', 'manifests/n.yaml', phone('inbound_agent_id: { $ref: "Agent/day" }'), ''],
    [
      'after an anchor',
      'manifests/n.yaml',
      phone('inbound_agent_id: &who { $ref: Agent/day }\noutbound_agent_id: *who'),
      '',
    ],
    [
      'after an anchor of the address',
      'manifests/n.yaml',
      phone('inbound_agent_id: { $ref: &who Agent/day }\noutbound_agent_id: { $ref: *who }'),
      '',
    ],
    [
      'in JSON',
      'manifests/n.json',
      JSON.stringify({
        apiVersion: 'voxform/v1',
        kind: 'PhoneNumber',
        metadata: { name: 'main' },
        spec: { number: '+1', inbound_agent_id: { $ref: 'Agent/day' } },
      }),
      '',
    ],
    [
      'with CRLF',
      'manifests/n.yaml',
      phone('nickname: 🦜 day\ninbound_agent_id: { $ref: Agent/day }').replaceAll('\n', '\r\n'),
      '',
    ],
    [
      'several times',
      'manifests/n.yaml',
      manifest(
        'WorkspaceUser',
        'u',
        'email: day@example.com\nrole: member\nmodules: [agents]\nagent_ids: [{ $ref: Agent/day }]',
      ),
      '',
    ],
    ['in a patch', 'voxform.yaml', settings('patches:\n  Agent/day: { name: day }'), ''],
    ['in a patch with quotes', 'voxform.yaml', settings('patches: { "Agent/day": { name: Day } }'), ''],
    ['in a skip', 'voxform.yaml', settings("skip: ['Agent/day', Agent/*y]"), 'skip'],
    [
      'in a rule, as an address',
      'voxform.yaml',
      settings('', 'policies:\n  - { name: r, on: plan, deny: \'resource.address == "Agent/day"\' }'),
      '',
    ],
    [
      'in a rule, as a name',
      'voxform.yaml',
      settings(
        '',
        'policies:\n  - name: r\n    kind: Agent\n    warn: |\n      labels.team == "x" &&\n      name in ["other", "day"]',
      ),
      '',
    ],
  ])('changes only a name %s', async (_, file, before, is) => {
    using project = new TemporaryProject({
      'manifests/day.yaml': manifest('Agent', 'day', ''),
      [file]: before,
    });
    const options = {
      root: project.root,
      from: 'Agent/day',
      to: is === 'skip' ? 'early-day' : 'night',
      workspace: 'test',
    };
    await rename(options);
    const read = (name: string): string => readFileSync(path.join(project.root, name), 'utf8');
    const expected = before.replaceAll(/(?<=Agent\/|"other", ")day/g, options.to);
    expect(read(file)).toBe(expected);
    expect(expected).not.toBe(before);
    expect(read('manifests/day.yaml')).toContain('previous_names:\n    - day\n');
    const back = { ...options, from: `Agent/${options.to}`, to: 'day' };
    await rename(back);
    expect(read(file)).toBe(before);
    expect(read('manifests/day.yaml')).toBe(manifest('Agent', 'day', ''));
  });

  it.each([
    ['123', '"123"'],
    ['true', '"true"'],
    ['1e3', '"1e3"'],
    ['on', 'on'],
  ])('writes %s as a string', async (to, expected) => {
    using project = new TemporaryProject(DAY);
    const options = { root: project.root, workspace: 'test' };
    await rename({ ...options, from: 'Agent/day', to });
    const read = (): string => readFileSync(path.join(project.root, 'manifests/day.yaml'), 'utf8');
    expect(read()).toContain(`name: ${expected}\n`);
    await rename({ ...options, from: `Agent/${to}`, to: 'day' });
    expect(read()).toBe(DAY['manifests/day.yaml']);
  });

  it('writes to the target of a link', async () => {
    using project = new TemporaryProject({
      'shared/day.yaml': DAY['manifests/day.yaml'],
      'manifests/n.yaml': phone('inbound_agent_id: { $ref: Agent/day }'),
    });
    symlinkSync('../shared/day.yaml', path.join(project.root, 'manifests/day.yaml'));
    await rename({ root: project.root, workspace: 'test', from: 'Agent/day', to: 'night' });
    expect(readFileSync(path.join(project.root, 'shared/day.yaml'), 'utf8')).toContain('name: night\n');
  });

  it('can start at every reference', async () => {
    using project = new TemporaryProject({
      'manifests/day.yaml': manifest('Agent', 'day', ''),
      'manifests/n.yaml': phone('inbound_agent_id: { $ref: Agent/day }'),
      'voxform.yaml': settings('patches: { Agent/day: { name: Day } }'),
    });
    const snapshot = await openSnapshot(project.root, { workspace: 'test' });
    const places = placesOf(snapshot, 'Agent/day');
    expect(places.map(({ type }) => type)).toEqual(['declaration', 'reference', 'patch']);
    const results = await Promise.all(
      places.map(({ file, range }) => renameAt(snapshot, { file, offset: range.start, newName: 'Agent/night' })),
    );
    expect(results[1]).toEqual(results[0]);
    expect(results[2]).toEqual(results[0]);
  });

  it('reports the rules that it changes and those that it does not', async () => {
    const rules = `policies:
  - { name: named, kind: Agent, deny: 'name == "day" && spec.name == "x"' }
  - { name: of-any-kind, deny: 'name == "day" && has(spec.url)' }
  - { name: of-a-text, kind: Agent, warn: 'labels.exists(key, labels[key] == "day")' }
`;
    const files = {
      'voxform.yaml': settings('', rules),
      'manifests/day.yaml': manifest('Agent', 'day', 'name: y'),
      'manifests/hook.yaml': manifest('Webhook', 'day', 'url: https://example.com'),
    };
    using project = new TemporaryProject({
      ...files,
      'manifests/hook.yaml': manifest('Webhook', 'evening', 'url: https://example.com'),
    });
    const options = { root: project.root, from: 'Agent/day', to: 'night', workspace: 'test' };
    expect(await rename(options)).toEqual([
      'voxform.yaml:9: day in the rule named was renamed.',
      'voxform.yaml:10: day in the rule of-any-kind was renamed.',
      'voxform.yaml:11: day in the rule of-a-text was unchanged.',
    ]);
  });

  it.each([
    [
      'an invalid name',
      {},
      'Night Shift',
      '"Night Shift" is not a valid name: expected 1 to 63 lower-case letters, digits and hyphens, not starting with a hyphen',
    ],
    [
      'a name in use',
      { 'manifests/n.yaml': manifest('Agent', 'night', '') },
      'night',
      'Agent/night is already declared at manifests/n.yaml:1',
    ],
    ['another kind', {}, 'Webhook/night', 'a rename cannot change the kind Agent'],
    [
      'a former name of another resource',
      {
        'manifests/n.yaml': manifest('Agent', 'late', '').replace(
          'name: late',
          'name: late\n  previous_names: [night]',
        ),
      },
      'night',
      'manifests/n.yaml:5: Agent/night still has its own manifest, at manifests/day.yaml:1',
    ],
    ['an invalid file', { 'manifests/n.yaml': 'kind: {' }, 'night', 'manifests/n.yaml:1 cannot be read; fix it first'],
    [
      'an invalid project file',
      { 'voxform.yaml': `${PLAIN_PROJECT}skip: [` },
      'night',
      'the project file has errors; fix them first',
    ],
    [
      'a pattern of skip that no longer matches',
      { 'voxform.yaml': settings('skip: [Agent/d*]') },
      'night',
      'workspaces.test.skip matches the old name and not the new one; change it first',
    ],
    [
      'a pattern of skip that newly matches',
      { 'voxform.yaml': settings('skip: [Agent/n*]'), 'manifests/n.yaml': manifest('Agent', 'nobody', '') },
      'night',
      'workspaces.test.skip matches the new name and not the old one; change it first',
    ],
    [
      'a shared anchor',
      {
        'manifests/day.yaml': manifest('Agent', 'day', '').replace('name: day', 'name: &n day\n  labels: { app: *n }'),
      },
      'night',
      'Agent/night at manifests/day.yaml:1 gets its name from the same anchor or $var; write the name out first',
    ],
    [
      'a reference with escapes',
      { 'manifests/n.yaml': phone('inbound_agent_id: { $ref: "Agent/d\\x61y" }') },
      'night',
      'manifests/n.yaml:7: day contains escapes; write it without escapes first',
    ],
    [
      'a name from an anchor',
      {
        'manifests/day.yaml': `x-all: &all { name: day }\n${manifest('Agent', 'day', '').replace('\n  name: day', ' *all')}`,
        'manifests/n.yaml': phone('inbound_agent_id: { $ref: Agent/day }'),
      },
      'night',
      'manifests/day.yaml:1 gets metadata.name from an anchor; write the name out first',
    ],
    [
      'two manifests with the same name',
      { 'manifests/n.yaml': manifest('Agent', 'day', '') },
      'night',
      'Agent/day is declared twice, again at manifests/n.yaml:1',
    ],
  ])('refuses %s', async (_, files, to, reason) => {
    expect(await refusal(files, to)).toBe(reason);
  });

  it('uses the text of open files instead of the files on the disk', async () => {
    using project = new TemporaryProject({ 'manifests/day.yaml': manifest('Agent', 'day', '') });
    const texts = { 'manifests/day.yaml': `${manifest('Agent', 'day', '')}---\nkind: [` };
    const options = { root: project.root, from: 'Agent/day', to: 'night', workspace: 'test', texts };
    expect(await renaming(options)).toMatchObject({ refused: expect.stringContaining('cannot be read') });
  });
});

describe('a rename of any example', () => {
  it.each([
    ['call-centre', 'staging', 5],
    ['migration', 'trial', 9],
    ['quickstart', 'local', 9],
  ])('keeps %s valid, and restores it when it is reversed', { tags: ['long'] }, async (name, workspace, most) => {
    const root = copyOf(name);
    const before = await openSnapshot(root, { workspace });
    const texts = new Map([...before.files, 'voxform.yaml'].map((file) => [file, before.textOf(file)]));
    const kinds = Map.groupBy(before.declarations, (each) => each.kind.name);
    const firsts = [...kinds.values()].flatMap(([first]) => first ?? []);
    const some = fc.sample(fc.constantFrom(...before.declarations), most);
    for (const { address } of new Set([...firsts, ...some])) {
      const [kind, old] = address.split('/');
      if (old?.startsWith('desk-')) continue;
      const there = { root, workspace, from: address, to: `${old}-2` };
      await rename(there);
      const between = await openSnapshot(root, { workspace });
      expect(between.diagnostics).toEqual(before.diagnostics);
      expect(between.declarations.map((each) => each.address)).toContain(`${kind}/${old}-2`);
      await rename({ ...there, from: `${kind}/${old}-2`, to: old ?? '' });
      for (const [file, text] of texts) expect(readFileSync(path.join(root, file), 'utf8')).toBe(text);
    }
  });

  it('keeps every record in both directions', { tags: ['long'] }, async () => {
    const { root, voxform } = await applied('quickstart');
    const needs = async (): Promise<Record<string, number>> => {
      const { create, forget, unknown } = (JSON.parse(await voxform('plan', '-o', 'json')) as PlanDocument).summary;
      return { create, forget, unknown };
    };
    const none = { create: 0, forget: 0, unknown: 0 };
    const { declarations } = await openSnapshot(root, { workspace: 'local' });
    const renameAll = async (change: (name: string) => [from: string, to: string]): Promise<void> => {
      for (const { kind, metadata } of declarations) {
        const [from, to] = change(metadata.name);
        await rename({ root, workspace: 'local', from: `${kind.name}/${from}`, to });
      }
    };
    await renameAll((name) => [name, `${name}-2`]);
    expect(await needs()).toEqual(none);
    await renameAll((name) => [`${name}-2`, name]);
    expect(await needs()).toEqual(none);
    await renameAll((name) => [name, `${name}-2`]);
    await voxform('apply', '--auto-approve');
    await renameAll((name) => [`${name}-2`, name]);
    expect(await needs()).toEqual(none);
  });

  it('refuses a name under which the state has another record', { tags: ['long'] }, async () => {
    const { root } = await applied('quickstart');
    const { declarations, textOf } = await openSnapshot(root, { workspace: 'local' });
    const [{ address, kind, metadata, source }] = declarations as [(typeof declarations)[number]];
    const text = textOf(source.file) ?? '';
    writeFileSync(path.join(root, source.file), text.replace(`name: ${metadata.name}`, 'name: another'));
    const options = { root, workspace: 'local', from: `${kind.name}/another`, to: metadata.name };
    expect(await renaming(options)).toEqual({
      refused: `the state of local has another record under ${address}; choose another name`,
    });
  });
});

describe('a rename in a project in any YAML style', () => {
  const agent = {
    apiVersion: 'voxform/v1',
    kind: 'Agent',
    metadata: { name: 'day', labels: { team: 'day' } },
    spec: { name: 'day' },
  };
  const user = {
    apiVersion: 'voxform/v1',
    kind: 'WorkspaceUser',
    metadata: { name: 'day' },
    spec: {
      email: 'day@example.com',
      role: 'member',
      modules: ['agents'],
      agent_ids: [{ $ref: 'Agent/day' }],
    },
  };
  const number = {
    apiVersion: 'voxform/v1',
    kind: 'PhoneNumber',
    metadata: { name: 'main', previous_names: ['day'] },
    spec: {
      number: '+12025550100',
      inbound_agent_id: { $ref: 'Agent/day' },
      outbound_agent_id: { $ref: 'Agent/day' },
    },
  };
  const workspace = {
    base_url: 'https://platform.example.com',
    workspace_id: '01J',
    api_key: { $secret: 'KEY' },
  };
  const project = {
    version: 1,
    default_workspace: 'test',
    workspaces: {
      test: {
        ...workspace,
        patches: { 'Agent/day': { name: 'Day' }, 'WorkspaceUser/day': { role: 'admin' } },
      },
      other: {
        ...workspace,
        skip: ['Agent/day', 'WorkspaceUser/day', 'PhoneNumber/*'],
        state: { path: 'other.json' },
      },
    },
    policies: [{ name: 'day', kind: 'Agent', warn: 'name == "day" && spec.name == "night"' }],
  };

  it('changes only names, and restores the same bytes when it is reversed', { tags: ['long'] }, async () => {
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(layout, layout, fc.constantFrom('night', 'd'), async (style, other, to) => {
        const files = {
          'voxform.yaml': written(project, other),
          'manifests/all.yaml': [agent, user, number].map((each) => written(each, style)).join('---\n'),
        };
        using temporary = new TemporaryProject(files);
        const root = temporary.root;
        const before = await openSnapshot(root);
        expect(before.diagnostics).toEqual([]);
        const there = await renaming({ root, from: 'Agent/day', to });
        if ('refused' in there) {
          refused += 1;
          expect(there.refused).toMatch(/^previous_names: |contains escapes/);
          return;
        }
        await rename({ root, from: 'Agent/day', to });
        const after = await openSnapshot(root);
        expect(after.diagnostics).toEqual([]);
        const named = JSON.stringify([agent, user, number]).replaceAll('Agent/day', `Agent/${to}`);
        const [renamed, ...rest] = JSON.parse(named);
        renamed.metadata = { ...renamed.metadata, name: to, previous_names: ['day'] };
        const text = readFileSync(path.join(root, 'manifests/all.yaml'), 'utf8');
        expect(parseDocuments(text).documents.map(({ value }) => value)).toEqual([renamed, ...rest]);
        await rename({ root, from: `Agent/${to}`, to: 'day' });
        for (const [file, text] of Object.entries(files))
          expect(readFileSync(path.join(root, file), 'utf8')).toBe(text);
      }),
      { numRuns: 15 },
    );
    expect(refused).toBeLessThan(5);
  });
});

interface Applied {
  readonly root: string;
  voxform(...args: readonly string[]): Promise<string>;
}

/** Returns a copy of an example with all its records. */
async function applied(name: string): Promise<Applied> {
  const root = copyOf(name);
  const emulator = await startEmulator({ seed: 'rename' });
  cleanups.push(() => emulator.close());
  const file = path.join(root, 'voxform.yaml');
  const text = readFileSync(file, 'utf8')
    .replace(/base_url: .*/, `base_url: ${emulator.url}`)
    .replace(/workspace_id: .*/, `workspace_id: ${emulator.workspaceId}`);
  writeFileSync(file, text);
  const env = { LOCAL_API_KEY: 'key', OPENAI_API_KEY: 'another-key' };
  const voxform = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await command([...args], { cwd: root, env });
    expect(code, stdout + stderr).toBe(0);
    return stdout;
  };
  await voxform('apply', '--auto-approve');
  return { root, voxform };
}

function copyOf(name: string): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), `voxform-${name}-`)));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(path.resolve(import.meta.dirname, '../../examples', name), folder, {
    recursive: true,
    filter: (source) => path.basename(source) !== '.voxform',
  });
  return folder;
}
