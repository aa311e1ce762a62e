/** @module-tag long */

import { describe, expect, it, onTestFinished } from 'vitest';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import { storedState } from '../../src/fleet/rows/page-rows.ts';
import { projectFile } from '../cli/workspace.ts';
import type { Files } from '../hosting/bare-repository.ts';
import type { CodeHostFake, MergeMethod } from '../hosting/code-host-fake.ts';
import { type HostName, hostNames } from '../hosting/drift-project.ts';
import { readFleet } from '../page/read-fleet.ts';
import { step } from '../step.ts';
import { agents, type PullScene, pullScene } from './pull-scene.ts';

/** A workspace with a request that is planned at `Two.` and has no review. */
interface Subject {
  readonly scene: PullScene;
  readonly host: CodeHostFake;
  readonly name: string;
  readonly number: number;
  readonly address: string;
  readonly emulator: Emulator;
  readonly manifest: string;
  /** Returns the prompt on the platform. */
  prompt(): string | undefined;
}

interface Case {
  readonly reason: string;
  /** Settings of the workspace rule. */
  readonly rule?: string;
  readonly files?: (subject: Pick<Subject, 'manifest' | 'emulator' | 'name'>) => Files;
  readonly author?: string;
  readonly fork?: string;
  /** Acts on the new request before the plan. */
  readonly opened?: (subject: Subject) => void;
  /** Acts between the plan and the merge. */
  readonly before?: (subject: Subject) => void;
  readonly merge: (subject: Subject) => void;
  /** Part of the expected outcome; null if there is none. By default, that of an approved plan. */
  readonly outcome?: RegExp | null | Readonly<Record<HostName, RegExp>>;
  /** The expected status after the merge if no plan waits. */
  readonly status?: 'failed' | 'in-sync';
  /** Acts after the outcome to change it. */
  readonly later?: (subject: Subject) => Promise<void>;
}

const RULE = 'mode: approve, approved_by: pull-request';
const APPROVED = /^Plan \w+ was approved by the merge/;
const DIFFERENT = /differs from the reviewed plan/;
const NONE = /has 0 of 1 required review/;
const UNREPORTED = /not reported before the merge/;

const approve =
  (...users: readonly string[]) =>
  ({ host, number }: Subject) => {
    for (const user of users) host.review(number, user, 'approve');
  };
const mergeBy =
  (method: MergeMethod, ...acts: readonly ((subject: Subject) => void)[]) =>
  (subject: Subject) => {
    for (const act of acts) act(subject);
    subject.host.mergeBy(subject.number, method);
  };
const reviewed = mergeBy('squash', approve('bob'));
const push = (prompt: string) => (subject: Subject) => {
  subject.host.push(subject.number, { [subject.manifest]: agents(prompt) });
};

const CASES: Readonly<Record<string, Case>> = {
  // This case runs first, before another one changes the base: GitLab then moves the base to the head.
  forward: {
    reason: 'a rebase merge of a branch that is up to date',
    before: mergeBy('rebase', approve('bob')),
    merge() {},
  },
  merged: { reason: 'a merge commit', merge: mergeBy('merge', approve('bob')) },
  squashed: { reason: 'a squash merge', merge: reviewed },
  rebased: {
    reason: 'a rebase merge; GitLab rebases the branch itself, and nobody reviewed its new commit',
    merge: mergeBy('rebase', approve('bob')),
    outcome: { github: APPROVED, gitlab: UNREPORTED },
  },
  late: {
    reason: 'no review until one is added after the merge',
    merge: mergeBy('squash'),
    outcome: NONE,
    later: async (subject) => approve('bob')(subject),
  },
  author: { reason: 'a review by the author', merge: mergeBy('squash', approve('ann')), outcome: NONE },
  pusher: {
    reason: 'a review by somebody who pushed to the branch',
    opened: ({ host, number, manifest }) =>
      void host.push(number, { [manifest]: agents('Two, by another.') }, { user: 'cara' }),
    merge: mergeBy('squash', approve('cara')),
    outcome: NONE,
  },
  outsider: { reason: 'a review by an outsider', merge: mergeBy('squash', approve('mallory')), outcome: NONE },
  dismissed: {
    reason: 'a dismissed review',
    merge: mergeBy('squash', approve('bob'), ({ host, number }) => host.review(number, 'bob', 'dismiss')),
    outcome: NONE,
  },
  outdated: {
    reason: 'a review of an earlier commit',
    opened(subject) {
      approve('bob')(subject);
      push('Two, but not as reviewed.')(subject);
    },
    merge: mergeBy('squash'),
    outcome: NONE,
  },
  unplanned: {
    reason: 'a push just before the merge',
    merge: mergeBy('squash', push('Two, in a hurry.'), approve('bob')),
    outcome: UNREPORTED,
  },
  objection: {
    reason: 'changes that another reviewer requested',
    merge: mergeBy('squash', approve('bob'), ({ host, number }) => host.review(number, 'cara', 'request-changes')),
    outcome: /requested by cara/,
  },
  needless: { reason: 'no review if none is required', rule: `${RULE}, reviews: 0`, merge: mergeBy('squash') },
  single: {
    reason: 'one of two reviews',
    rule: `${RULE}, reviews: 2`,
    merge: reviewed,
    outcome: /has 1 of 2 required reviews, by bob/,
  },
  double: {
    reason: 'two of two reviews',
    rule: `${RULE}, reviews: 2`,
    merge: mergeBy('merge', approve('bob', 'cara')),
  },
  unruled: { reason: 'a rule without approved_by', rule: 'mode: approve', merge: reviewed, outcome: null },
  drifted: {
    reason: 'drift between the plan and the merge',
    before({ emulator }) {
      const [agent] = emulator.world.agents.values();
      if (agent?.prompt_config) agent.prompt_config.prompt = 'Changed in the dashboard.';
    },
    merge: reviewed,
    outcome: DIFFERENT,
  },
  moved: {
    reason: 'a base branch with newer changes to the workspace',
    before: ({ host, name }) =>
      void host.repository.push('main', { [`clients/${name}/manifests/more.yaml`]: agents('New.', 'night') }),
    merge: reviewed,
    outcome: DIFFERENT,
  },
  resolved: {
    reason: 'a merge whose result differs from the branch',
    merge(subject) {
      reviewed(subject);
      subject.host.repository.push('main', { [subject.manifest]: agents('Two, after a conflict.') });
    },
    outcome: DIFFERENT,
  },
  settings: {
    reason: 'changed settings of secrets, state or platform',
    files: ({ name, emulator, manifest }) => ({
      [manifest]: agents('Two.'),
      [`clients/${name}/voxform.yaml`]: projectFile(emulator, 'limits: { concurrency: 2 }\n'),
    }),
    merge: reviewed,
    outcome: /changed settings/,
  },
  unreachable: {
    reason: 'a platform that is unavailable after the merge',
    files: ({ name, emulator, manifest }) => ({
      [manifest]: agents('Two.'),
      [`clients/${name}/voxform.yaml`]: projectFile(emulator).replace(emulator.url, 'http://127.0.0.1:9'),
    }),
    merge: reviewed,
    outcome: /^The run after the merge failed: /,
    status: 'failed',
  },
  undone: {
    reason: 'a change that is undone after the merge',
    merge(subject) {
      reviewed(subject);
      subject.host.repository.push('main', { [subject.manifest]: agents('One.') });
    },
    outcome: /left nothing to change/,
    status: 'in-sync',
  },
  retargeted: {
    reason: 'a request that was merged into another branch',
    before({ host, number }) {
      host.repository.set('release', host.repository.head('main'));
      host.request(number).base = 'release';
    },
    merge(subject) {
      reviewed(subject);
      subject.host.repository.push('main', { [subject.manifest]: agents('Two.') });
    },
    outcome: null,
  },
  forked: { reason: 'a request from a fork', author: 'mallory', fork: 'mallory', merge: reviewed, outcome: null },
  rejected: {
    reason: 'a plan that a person rejected',
    merge: mergeBy('squash'),
    outcome: /rejected by carol/,
  },
  both: {
    reason: 'two requests for one workspace that are merged at once',
    before: another({ file: 'manifests/more.yaml', text: agents('New.', 'night') }),
    merge(subject) {
      reviewed(subject);
      reviewed(secondOf(subject));
    },
    outcome: DIFFERENT,
  },
  apart: {
    reason: 'a request that is merged after another one changed another record of the workspace',
    before: another({ file: 'manifests/more.yaml', text: agents('New.', 'night') }),
    merge: reviewed,
    later: async (subject) => reviewed(secondOf(subject)),
  },
  crossed: {
    reason: 'a request that is merged after another one changed the same record',
    before: another({ file: 'manifests/agents.yaml', text: agents('Three.') }),
    merge: reviewed,
    later: async (subject) => reviewed(secondOf(subject)),
  },
};

/**
 * Cases that do not depend on the host. Each host has its own rules for reviews; the fleet handles their results alike.
 */
const OF_ALL_HOSTS = [
  'forward',
  'merged',
  'rebased',
  'late',
  'author',
  'outdated',
  'objection',
  'double',
  'drifted',
  'both',
];

/** Opens a second request for the workspace. */
function another({ file, text }: { readonly file: string; readonly text: string }) {
  return ({ host, name }: Subject): void =>
    void host.openRequest({ branch: `${name}-second`, files: { [`clients/${name}/${file}`]: text } });
}

function secondOf(subject: Subject): Subject {
  const { number = 0 } = subject.host.requests.find(({ branch }) => branch === `${subject.name}-second`) ?? {};
  return { ...subject, number };
}

for (const hostName of hostNames)
  describe(`approval by review on ${hostName}`, () => {
    it('approves only the reviewed plan, and otherwise waits for approval and gives the reason', async () => {
      const names = Object.keys(CASES).filter((name) => hostName === 'github' || OF_ALL_HOSTS.includes(name));
      const emulators = new Map<string, Emulator>();
      const files: Record<string, string> = {};
      for (const [index, name] of names.entries()) {
        const workspaceId = `01JEMV1AT0RW0RKSPACE00${String(index + 10).padStart(4, '0')}`;
        const emulator = await startEmulator({ seed: index + 10, workspaceId });
        onTestFinished(() => emulator.close());
        emulators.set(name, emulator);
        files[`clients/${name}/voxform.yaml`] = projectFile(emulator);
        files[`clients/${name}/manifests/agents.yaml`] = agents('One.');
      }
      const rules = names.map((name) => `  "${addressOf(name)}": { ${CASES[name]?.rule ?? RULE}, interval: 1h }`);
      const scene = await pullScene(hostName, { files, rules: rules.join('\n'), rule: 'mode: report' });
      const { host, control, until, database } = scene;
      await scene.serve();
      const page = readFleet({ database, control }, { hasPulls: true });
      const count = async (status: 'waiting' | 'in-sync') => (await control.status({ limit: 0 })).counts[status];
      await until(async () => (await count('waiting')) === names.length, 'the first plans wait');
      for (const name of names)
        await control.approve(addressOf(name), (await waitingOf(scene, addressOf(name)))?.digest ?? '', 'carol');
      await until(async () => (await count('in-sync')) === names.length, 'all are in sync');

      const subjects = names.map((name): Subject & { readonly is: Case } => {
        const emulator = emulators.get(name) as Emulator;
        const is = CASES[name] as Case;
        const manifest = `clients/${name}/manifests/agents.yaml`;
        const { author, fork } = is;
        const { number } = host.openRequest({
          branch: name,
          files: is.files?.({ name, emulator, manifest }) ?? { [manifest]: agents('Two.') },
          ...(author !== undefined && { author }),
          ...(fork !== undefined && { fork }),
        });
        const prompt = () => [...emulator.world.agents.values()][0]?.prompt_config?.prompt;
        const subject = { scene, host, name, number, address: addressOf(name), emulator, manifest, prompt, is };
        is.opened?.(subject);
        return subject;
      });
      const allPlanned = async (): Promise<void> => {
        for (const { number, state, base } of host.requests)
          if (state === 'open' && base === 'main') await scene.planned(number);
      };
      const outcomeOf = async ({ number, address }: Pick<Subject, 'number' | 'address'>) =>
        (await scene.pull(number))?.workspaces.find((each) => each.address === address)?.outcome ?? null;
      const statusOf = async (address: string) => (await control.status({ address })).workspaces[0]?.status;
      const isApplied = async ({ prompt, address }: Subject) =>
        prompt()?.startsWith('Two') === true && (await statusOf(address)) === 'in-sync';

      await step('all requests are planned', allPlanned);
      for (const subject of subjects) subject.is.before?.(subject);
      await step('their newer commits are planned too', allPlanned);
      for (const subject of subjects) subject.is.merge(subject);

      for (const subject of subjects) {
        const { is, address, number, name } = subject;
        const expected = is.outcome === undefined ? APPROVED : is.outcome;
        const outcome = expected === null || expected instanceof RegExp ? expected : expected[hostName];
        await step(`${name}: ${is.reason}`, async () => {
          if (outcome === APPROVED) return until(() => isApplied(subject), `${name} is applied`);
          const { status = 'waiting' } = is;
          await until(async () => (await statusOf(address)) === status, `${name} is ${status}`);
          if (name === 'rejected') {
            const { digest } = (await waitingOf(scene, address)) ?? {};
            await control.reject(address, digest ?? '', { by: 'carol' });
            approve('bob')(subject);
          }
          if (outcome !== null) {
            await until(async () => outcome.test((await outcomeOf(subject)) ?? ''), `the outcome of ${name}`);
            if (name !== 'rejected' && status === 'waiting') {
              const facts = (await page.workspace(address))?.facts ?? [];
              expect(facts).toContainEqual([
                expect.stringMatching(/^Pull request voices#\d+$/),
                expect.stringMatching(outcome),
              ]);
            }
          }
          expect(subject.prompt()?.startsWith('Two')).toBe(false);
          expect([
            number,
            name === 'rejected' || status !== 'waiting' || (await waitingOf(scene, address)) !== undefined,
          ]).toEqual([number, true]);
        });
      }

      await step('the history names the request, the reviewers and the digest', async () => {
        const { address, number } = subjects.find(({ name }) => name === 'double') as Subject;
        const by = `voices pull request ${number}, reviewed by bob, cara`;
        const [decision] = await database.query(
          `SELECT r.who, p.digest, p.state FROM voxform_fleet.runs r JOIN voxform_fleet.plans p ON p.address = r.address AND p.id = r.plan_id
WHERE r.address = $1 AND r.result = 'approved' AND r.who <> 'carol'`,
          address,
        );
        expect(decision).toEqual({ who: by, digest: expect.stringMatching(/^\w{32}$/), state: 'applied' });
        const { runs } = await storedState(database, address);
        expect(runs.find(({ approved_by }) => approved_by === by)).toMatchObject({
          plan: { digest: decision?.digest },
        });
      });

      for (const subject of subjects) await subject.is.later?.(subject);
      for (const subject of subjects.filter(({ is }) => is.later !== undefined)) {
        const { name, address, prompt } = subject;
        await step(`${name}, later`, async () => {
          if (name === 'late') return until(() => isApplied(subject), 'it is applied');
          const second = secondOf(subject);
          const outcome = name === 'crossed' ? DIFFERENT : APPROVED;
          await until(async () => outcome.test((await outcomeOf(second)) ?? ''), `the outcome of the second request`);
          if (name === 'apart') return until(async () => (await statusOf(address)) === 'in-sync', 'it is applied');
          expect([prompt(), await statusOf(address)]).toEqual(['Two.', 'waiting']);
        });
      }
      await step('nothing else was applied', async () => {
        for (const { name, prompt, is } of subjects)
          if (is.outcome !== undefined && name !== 'late' && name !== 'rebased')
            expect([name, prompt()?.startsWith('Two')]).toEqual([name, false]);
      });
    });
  });

it.each([
  { mode: 'apply', reason: 'applies all merged changes, even without a review' },
  { mode: 'report', reason: 'applies nothing' },
])('in mode $mode $reason', async ({ mode }) => {
  const scene = await pullScene('github', { rule: `mode: ${mode}` });
  const { host, control, until, prompts } = scene;
  await scene.serve();
  const statusOf = async () => (await control.status({})).workspaces[0]?.status;
  const synced = mode === 'apply' ? 'in-sync' : 'pending';
  await until(async () => (await statusOf()) === synced, 'the first run');
  const { number } = host.openRequest({
    branch: 'warm',
    files: { 'clients/acme/manifests/agents.yaml': agents('Two.') },
  });
  await scene.planned(number);
  host.review(number, 'bob', 'approve');
  host.mergeBy(number, 'squash');
  await until(async () => (await scene.pull(number))?.state === 'merged', 'it is merged');
  if (mode === 'apply') await until(() => prompts().some((each) => each.includes('Two.')), 'it is applied');
  const checkedAt = async () => (await control.status({})).workspaces[0]?.checkedAt;
  const before = await checkedAt();
  await until(async () => (await checkedAt()) !== before, 'a run after the merge');
  expect((await scene.pull(number))?.workspaces).toMatchObject([{ result: 'changes', outcome: null }]);
  if (mode === 'report') expect(scene.writes()).toBe(0);
});

function addressOf(name: string): string {
  return `voices/clients/${name}:test`;
}

async function waitingOf({ database }: PullScene, address: string): Promise<{ readonly digest: string } | undefined> {
  const [row] = await database.query(
    `SELECT digest FROM voxform_fleet.plans WHERE address = $1 AND state = 'waiting'`,
    address,
  );
  return row && { digest: String(row.digest) };
}
