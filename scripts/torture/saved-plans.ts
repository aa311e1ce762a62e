import assert from 'node:assert/strict';
import type { Case } from './cases.ts';
import { converges, refused, succeeded, unwrapped, writesNothing } from './expectations.ts';
import { type Bench, Lab, type RunOptions } from './lab.ts';
import { agent, documents, projectFile, webhook } from './manifests.ts';

const GROUP = 'saved plans refused';
const PLAN = 'saved.plan';
const OTHER = '01OTHERWORKSPACE0000000000';

/** What happens between making a plan and applying it. */
interface Between {
  readonly name: string;
  readonly happens: (lab: Lab) => Promise<RunOptions | undefined>;
  readonly says: RegExp;
  readonly args?: readonly string[];
}

const betweens: readonly Between[] = [
  {
    name: 'the state moved on',
    async happens(lab) {
      succeeded(await lab.run('apply', '--auto-approve', '--target', 'Agent/c'));
      return undefined;
    },
    says: /the plan is stale: it was made from state serial 1, and the state is now at serial 2/,
  },
  {
    name: 'a record changed',
    async happens(lab) {
      const id = (await lab.state()).resources.get('Agent/a')?.id ?? '';
      lab.emulator.dashboard.edit('agents', id, { prompt_config: { prompt: 'Be rude.' } });
      return undefined;
    },
    says: /the plan is stale: Agent\/a changed on the platform; nothing was written/,
  },
  {
    name: 'a secret changed',
    happens: async () => ({ env: { PROVIDER_KEY: 'sk-another-provider-key' } }),
    says: /changed since the plan was made: PROVIDER_KEY/,
  },
  {
    name: 'a secret is gone',
    happens: async () => ({ env: { PROVIDER_KEY: '' } }),
    says: /PROVIDER_KEY/,
  },
  {
    name: 'the file was edited',
    happens: edited((text) => text.replaceAll('Be brief.', 'Be rude.')),
    says: /was edited, redacted or damaged since it was made/,
  },
  {
    name: 'the file was cut short',
    happens: edited((text) => text.slice(0, text.length / 2)),
    says: /is not a saved plan: it is not JSON/,
  },
  {
    name: 'made by a newer version',
    happens: edited((text) => text.replace(/"voxform_version": "[^"]+"/, '"voxform_version": "99.0.0"')),
    says: /was made by voxform 99\.0\.0; this is voxform .*Use that version/,
  },
  {
    name: 'of a newer format',
    happens: edited((text) => text.replace('"format_version": 1', '"format_version": 3')),
    says: /has plan format 3; this version of voxform reads format 1/,
  },
  {
    name: 'for another workspace',
    async happens(lab) {
      const other = projectFile({ url: lab.emulator.url, workspaceId: OTHER }).split('\n').slice(2).join('\n');
      lab.write('voxform.yaml', projectFile(lab.emulator, other.replace('test:', 'other:')));
      return undefined;
    },
    args: ['--workspace', 'other'],
    says: new RegExp(`the plan is for workspace \\S+ at \\S+ \\(test\\), but ${OTHER} at \\S+ \\(other\\)`),
  },
  {
    name: 'from another state',
    async happens(lab) {
      const moved = '    state: { path: elsewhere.state.json }\n';
      lab.write('voxform.yaml', projectFile(lab.emulator, moved));
      await lab.runWith({}, 'state', 'init');
      return undefined;
    },
    says: /the plan was made from another state/,
  },
];

export const savedPlanCases: readonly Case[] = betweens.map(
  ({ name, happens, says, args = [] }, index): Case => ({
    group: GROUP,
    name,
    short: index === 1,
    async run(bench) {
      await using lab = await plannedLab(bench);
      const options = (await happens(lab)) ?? {};
      const ended = await writesNothing(lab, () => lab.runWith(options, 'apply', PLAN, '--auto-approve', ...args));
      refused(ended, says);
      const others = betweens.filter((each) => each.name !== name && each.says.test(unwrapped(ended.stderr)));
      assert.deepEqual(
        others.map((each) => each.name).filter((each) => !/secret/.test(each)),
        [],
        'the message is not its own',
      );
      lab.write('voxform.yaml', projectFile(lab.emulator));
      await converges(lab);
    },
  }),
);

/** A plan of two updates and a create is saved. */
async function plannedLab(bench: Bench): Promise<Lab> {
  const lab = await Lab.open(bench, { manifests: documents(agent('a'), agent('b'), webhook('hook')) });
  succeeded(await lab.run('apply', '--auto-approve'));
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
