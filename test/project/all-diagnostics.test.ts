import { describe, expect, it } from 'vitest';
import { kinds, lookups } from '../../src/kinds/index.ts';
import { allDiagnostics } from '../../src/project/all-diagnostics.ts';
import { InvalidProject } from '../../src/project/invalid-project.ts';
import { loadProject } from '../../src/project/load-project.ts';
import { type Files, lineOf, manifest, PLAIN_PROJECT, TemporaryProject } from './temporary-project.ts';

async function linesOf(files: Files, name?: string): Promise<string[]> {
  using folder = new TemporaryProject(files);
  const error: unknown = await loadProject({ cwd: folder.root, env: {} }).catch((thrown: unknown) => thrown);
  if (!(error instanceof InvalidProject)) throw new Error('the project file is right', { cause: error });
  return (await allDiagnostics(error, { kinds, lookups, env: {}, name })).map(lineOf);
}

interface Row {
  readonly reason: string;
  readonly project: string;
  /** The text of `manifests/m.yaml`. */
  readonly text?: string;
  readonly expected: readonly string[];
}

const AGENT = manifest('Agent', 'a', 'name: A');
const WRONG = manifest('Agent', 'a', 'nmae: A');
const OF_MANIFEST = 'manifests/m.yaml:6:3 spec.nmae unknown-field unknown field "nmae"; did you mean "name"?';
const UNKNOWN_KIND = 'defaults.Agnt unknown-kind unknown kind "Agnt"; did you mean "Agent"?';
const second = '  other: { base_url: "https://x.example", workspace_id: w }\n';

const rows: readonly Row[] = [
  {
    reason: 'an unknown default workspace, a bad pattern, an unknown kind and wrong defaults',
    project: `${PLAIN_PROJECT}default_workspace: tset\nmanifests: [../x.yaml]\ndefaults: { Agnt: {}, Agent: { foo: 1 } }\n`,
    expected: [
      'voxform.yaml:7:20 default_workspace unknown-workspace unknown workspace "tset"; did you mean "test"?',
      'voxform.yaml:8:13 manifests[0] outside-project the pattern "../x.yaml" points outside the project folder',
      `voxform.yaml:9:13 ${UNKNOWN_KIND}`,
      'voxform.yaml:9:32 defaults.Agent.foo unknown-field unknown field "foo"',
    ],
  },
  {
    reason: 'an unknown key hides neither problems beside it nor the manifests',
    project: `${PLAIN_PROJECT}limit: {}\ndefault_workspace: tset\nguards: { min_resources: -1 }\ndefaults: { Agnt: {} }\n`,
    text: WRONG,
    expected: [
      OF_MANIFEST,
      'voxform.yaml:7:1 limit unknown-field unknown field "limit"; did you mean "limits"?',
      'voxform.yaml:8:20 default_workspace unknown-workspace unknown workspace "tset"; did you mean "test"?',
      'voxform.yaml:9:26 guards.min_resources out-of-range min_resources must be a whole number of at least 0, got -1',
      `voxform.yaml:10:13 ${UNKNOWN_KIND}`,
    ],
  },
  {
    reason: 'without a workspace the manifests are not checked, but the rest of the file is',
    project: `${PLAIN_PROJECT}${second}default_workspace: tset\ndefaults: { Agnt: {} }\n`,
    text: WRONG,
    expected: [
      'voxform.yaml:8:20 default_workspace unknown-workspace unknown workspace "tset"; did you mean "test"?',
      `voxform.yaml:9:13 ${UNKNOWN_KIND}`,
    ],
  },
  {
    reason: 'no workspaces at all',
    project: 'version: 1\ndefaults: { Agnt: {} }\ndefault_workspace: test\n',
    text: WRONG,
    expected: [
      'voxform.yaml:1:1 workspaces missing-field workspaces is missing; it must be an object',
      `voxform.yaml:2:13 ${UNKNOWN_KIND}`,
    ],
  },
  {
    reason: 'another version and a workspace without its URL',
    project: 'version: 2\nworkspaces:\n  test: { workspace_id: 5, skip: [7, Agnt/a] }\n',
    text: WRONG,
    expected: [
      OF_MANIFEST,
      'voxform.yaml:1:10 version not-allowed version must be 1, got 2',
      'voxform.yaml:3:3 workspaces.test.base_url missing-field base_url is missing; it must be a URL',
      'voxform.yaml:3:25 workspaces.test.workspace_id wrong-type workspace_id must be a string, but YAML reads it as the number 5; put it in quotes',
      'voxform.yaml:3:35 workspaces.test.skip[0] wrong-type skip[0] must be a string, but YAML reads it as the number 7; put it in quotes',
      'voxform.yaml:3:38 workspaces.test.skip[1] unknown-kind unknown kind "Agnt"; did you mean "Agent"?',
    ],
  },
  {
    reason: 'consequences of a misspelled key are not reported',
    project: `${PLAIN_PROJECT}    var: { name: A }\ndefualts: { PhoneNumber: { number: "1" } }\n`,
    text: `${manifest('PhoneNumber', 'n', 'nickname: { $var: name }')}---\n${AGENT}`,
    expected: [
      'voxform.yaml:7:5 workspaces.test.var unknown-field unknown field "var"; did you mean "vars"?',
      'voxform.yaml:8:1 defualts unknown-field unknown field "defualts"; did you mean "defaults"?',
    ],
  },
  {
    reason: 'problems of the manifests alone are reported, beside an unrelated setting',
    project: `${PLAIN_PROJECT}limits: { concurrency: 0 }\n`,
    text: manifest('PhoneNumber', 'n', 'nickname: N'),
    expected: [
      'manifests/m.yaml:5:1 spec.number missing-field number is missing; it must be a string of 1 to 12 characters',
      'voxform.yaml:7:24 limits.concurrency out-of-range concurrency must be "auto" or a whole number between 1 and 256, got 0',
    ],
  },
  {
    reason: 'patterns that are not strings match no files',
    project: `manifests: [5, "", x/*.yaml]\n${PLAIN_PROJECT}`,
    expected: [
      'voxform.yaml:1:13 manifests[0] wrong-type manifests[0] must be a string, but YAML reads it as the number 5; put it in quotes',
      'voxform.yaml:1:16 manifests[1] out-of-range manifests[1] must not be empty',
    ],
  },
  {
    reason: 'a file that is not an object is not checked further',
    project: 'voxform',
    expected: ['voxform.yaml:1:1 - wrong-type the project file must be an object, got "voxform"'],
  },
];

describe('all problems beside an invalid project file', () => {
  it.each(rows)('are reported: $reason', async ({ project, text = AGENT, expected }) => {
    expect(await linesOf({ 'voxform.yaml': project, 'manifests/m.yaml': text })).toEqual(expected);
  });

  it('are those of the selected workspace', async () => {
    const project = `${PLAIN_PROJECT}${second}limit: 1\n`;
    const files = { 'voxform.yaml': project, 'manifests/m.yaml': WRONG };
    expect(await linesOf(files)).toHaveLength(1);
    expect(await linesOf(files, 'other')).toHaveLength(2);
  });
});
