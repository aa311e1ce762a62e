import assert from 'node:assert/strict';
import type { Case } from './cases.ts';
import { converges, refused, succeeded, unwrapped, writesNothing } from './expectations.ts';
import { type Bench, Lab, type RunOptions } from './lab.ts';
import { agent, documents, projectFile, webhook } from './manifests.ts';

const GROUP = 'saved plans refused';
const PLAN = 'saved.plan';
const OTHER = '01OTHERWORKSPACE0000000000';

/** An event between a plan and its apply, and the error that reports it. */
interface Interference {
  readonly name: string;
  readonly interfere: (lab: Lab) => Promise<RunOptions | undefined>;
  readonly message: RegExp;
  readonly args?: readonly string[];
}

const interferences: readonly Interference[] = [
  {
    name: 'the state has changed',
    async interfere(lab) {
      succeeded(await lab.run('apply', '--auto-approve', '--target', 'Agent/c'));
      return undefined;
    },
    message: /the plan is stale: it was made from state serial 1, and the state is now at serial 2/,
  },
  {
    name: 'a record changed',
    async interfere(lab) {
      const id = (await lab.state()).resources.get('Agent/a')?.id ?? '';
      lab.emulator.dashboard.edit('agents', id, { prompt_config: { prompt: 'Be rude.' } });
      return undefined;
    },
    message: /the plan is stale: Agent\/a changed on the platform; nothing was written/,
  },
  {
    name: 'a secret changed',
    interfere: async () => ({ env: { PROVIDER_KEY: 'sk-another-provider-key' } }),
    message: /changed since the plan was made: PROVIDER_KEY/,
  },
  {
    name: 'a secret is not set',
    interfere: async () => ({ env: { PROVIDER_KEY: '' } }),
    message: /PROVIDER_KEY/,
  },
  {
    name: 'the file was edited',
    interfere: edited((text) => text.replaceAll('Be brief.', 'Be rude.')),
    message: /was edited, redacted or damaged since it was made/,
  },
  {
    name: 'the file is truncated',
    interfere: edited((text) => text.slice(0, text.length / 2)),
    message: /is not a saved plan: it is not JSON/,
  },
  {
    name: 'made by a newer version',
    interfere: edited((text) => text.replace(/"voxform_version": "[^"]+"/, '"voxform_version": "99.0.0"')),
    message: /was made by voxform 99\.0\.0; this is voxform .*Use that version/,
  },
  {
    name: 'of a newer format',
    interfere: edited((text) => text.replace('"format_version": 1', '"format_version": 3')),
    message: /has plan format 3; this version of voxform reads format 1/,
  },
  {
    name: 'for another workspace',
    async interfere(lab) {
      const other = projectFile({ url: lab.emulator.url, workspaceId: OTHER }).split('\n').slice(2).join('\n');
      lab.write('voxform.yaml', projectFile(lab.emulator, other.replace('test:', 'other:')));
      return undefined;
    },
    args: ['--workspace', 'other'],
    message: new RegExp(`the plan is for workspace \\S+ at \\S+ \\(test\\), but ${OTHER} at \\S+ \\(other\\)`),
  },
  {
    name: 'from another state',
    async interfere(lab) {
      const moved = '    state: { path: elsewhere.state.json }\n';
      lab.write('voxform.yaml', projectFile(lab.emulator, moved));
      await lab.runWith({}, 'state', 'init');
      return undefined;
    },
    message: /the plan was made from another state/,
  },
];

export const savedPlanCases: readonly Case[] = interferences.map(
  ({ name, interfere, message, args = [] }, index): Case => ({
    group: GROUP,
    name,
    short: index === 1,
    async run(bench) {
      await using lab = await plannedLab(bench);
      const options = (await interfere(lab)) ?? {};
      const result = await writesNothing(lab, () => lab.runWith(options, 'apply', PLAN, '--auto-approve', ...args));
      refused(result, message);
      const others = interferences.filter((each) => each.name !== name && each.message.test(unwrapped(result.stderr)));
      assert.deepEqual(
        others.map((each) => each.name).filter((each) => !/secret/.test(each)),
        [],
        'the message also matches other cases',
      );
      lab.write('voxform.yaml', projectFile(lab.emulator));
      await converges(lab);
    },
  }),
);

/** Saves a plan of two updates and a create. */
async function plannedLab(bench: Bench): Promise<Lab> {
  const lab = await Lab.applied(bench, { manifests: documents(agent('a'), agent('b'), webhook('hook')) });
  lab.write(
    'manifests/all.yaml',
    documents(agent('a', 'Be brief.'), agent('b', 'Be brief.'), webhook('hook'), agent('c')),
  );
  succeeded(await lab.run('plan', '--out', PLAN), /2 to update/);
  return lab;
}

function edited(change: (text: string) => string): (lab: Lab) => Promise<undefined> {
  return async (lab) => {
    const text = lab.read(PLAN);
    assert.notEqual(change(text), text);
    lab.write(PLAN, change(text));
    return undefined;
  };
}
