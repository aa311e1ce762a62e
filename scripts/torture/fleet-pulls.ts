import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type CodeHostFake, type Fault, MACHINE } from '../../test/hosting/code-host-fake.ts';
import { FakeGithub } from '../../test/hosting/fake-github.ts';
import { FakeGitlab } from '../../test/hosting/fake-gitlab.ts';
import type { Case } from './cases.ts';
import { FleetGround } from './fleet-ground.ts';
import { editionsIn, type Fleet, killOne, startAll, stopAll } from './fleet-promises.ts';
import { manifestsOf } from './fleets.ts';
import type { Bench } from './lab.ts';
import type { Random } from './random.ts';
import { SECRETS, secretsIn } from './secrets.ts';
import { ownDatabase } from './shared-locations.ts';

const trials = [
  { name: 'pull requests are planned while processes are killed and the host fails', steps: 8 },
  {
    name: 'pull requests are planned while processes are killed and the host fails, briefly',
    steps: 3,
    short: true,
  },
];

export const fleetPullCases: readonly Case[] = trials.map(({ steps, ...each }) => ({
  group: 'fleets',
  backend: 'fleet',
  ...each,
  run: (bench, random) => planUnderFaults(steps, bench, random),
}));

const MAX_WAIT_MS = 150_000;
const HOST_FAULTS: readonly Fault['answer'][] = [
  'cut',
  'lost',
  { status: 500 },
  { status: 422 },
  { status: 403, headers: { 'retry-after': '1' } },
];

/** A fleet, its host, and the approvals of reviewers. */
interface ReviewedFleet {
  readonly fleet: Fleet;
  readonly host: CodeHostFake;
  /** The approved editions by project. */
  readonly reviewed: ReadonlyMap<string, Set<number>>;
  /** In the order of the merges. */
  readonly merges: { readonly project: string; readonly number: number }[];
}

async function planUnderFaults(steps: number, bench: Bench, random: Random): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await ownDatabase());
  const projects = Array.from({ length: random.int(2, 3) }, (_, index) => `p${index}`);
  const ground = stack.use(
    await FleetGround.ofBench(bench.built, {
      projects,
      seed: random.seed,
      manifests: (project) => manifestsOf(project, 1),
      url: database.url,
      fleet: '',
    }),
  );
  const names = projects.flatMap((project) => [`${project}/voxform.yaml`, `${project}/manifests/all.yaml`]);
  const files = Object.fromEntries(names.map((name) => [name, readFileSync(path.join(ground.folder, name), 'utf8')]));
  const kind = random.pick(['github', 'gitlab'] as const);
  const host: CodeHostFake = stack.use(await (kind === 'github' ? FakeGithub : FakeGitlab).start(files));
  host.tokens.set(SECRETS.STATE_TOKEN ?? '', true);
  const writeFleetFile = (rule: string): void =>
    ground.write(
      'fleet.yaml',
      `version: 1
database: { $secret: FLEET_DATABASE_URL }
sources:
  voices:
    git: ${host.remote}
    projects: ["*"]
    interval: 1s
    pull_requests: { host: ${kind}, token: { $secret: STATE_TOKEN } }
workspaces: { "*": { ${rule}, interval: 1h } }
`,
    );
  const machines = ['machine-1', 'machine-2'].map((host) => ({ host, ahead: random.int(-55, 55) }));
  const { figures } = bench;
  const fleet: Fleet = { ground, database, editions: new Map(), machines, running: new Map(), figures };
  writeFleetFile('mode: apply');
  startAll(fleet);
  await until('all are in sync', async () => (await ground.status()).counts['in-sync'] === projects.length);
  await stopAll(fleet);
  writeFleetFile('mode: approve, approved_by: pull-request');
  const reviewed = new Map(projects.map((project) => [project, new Set([1])]));
  ground.hook = async (project, { method, path: url, body }) => {
    const isKnown = editionsIn(JSON.stringify(body ?? '')).every((edition) => reviewed.get(project)?.has(edition));
    if (method !== 'GET' && !isKnown)
      figures.addFailure(
        'fleets: plans are reviewed',
        `${method} ${url} of ${project} writes an edition that was not reviewed`,
      );
    return undefined;
  };
  startAll(fleet);
  const merges: { readonly project: string; readonly number: number }[] = [];
  for (let step = 1; step <= steps; step++) {
    // People act on most requests after their plans are reported, and on some before.
    if (step > 1 && random.chance(0.8)) await allReported(host, fleet);
    for (const project of projects) actOn({ fleet, host, reviewed, merges }, { project, random });
    for (let count = random.int(1, 4); count > 0; count--)
      host.faults.push({ on: random.pick([/^GET /, /^P/]), answer: random.pick(HOST_FAULTS) });
    // Only for writes: a 404 to a read means that the request was deleted.
    if (random.chance(0.3)) host.faults.push({ on: /^P/, answer: { status: 404 } });
    const act = (): void => void killOne(fleet, random);
    if (random.chance(0.7)) host.faults.push({ on: /^P/, answer: random.pick(['pass', 'lost']), act });
    await delay(random.int(2_000, 8_000));
    if (random.chance(0.5)) await ground.passTime();
    startAll(fleet);
  }
  await allReported(host, fleet);
  for (const project of projects) {
    const last = merges.findLast((each) => each.project === project);
    if (last === undefined) continue;
    await until(`the merge of ${last.number} has an outcome`, async () => {
      const [row] = await ground.inDatabase(({ query }) => query(OUTCOME, last.number));
      if (row === undefined) return false;
      figures.count('merged pull requests of a fleet', row.isApproved === true ? 'approved' : 'left for a person');
      return true;
    });
  }
  for (const { number, comments } of host.requests) {
    const own = comments.filter(({ user }) => user === MACHINE);
    figures.count('pull requests of a fleet', own.length === 1 ? 'with one comment' : 'without a comment');
    assert.ok(own.length <= 1, `request ${number} has ${own.length} comments`);
    assert.deepEqual(secretsIn(JSON.stringify(own)), []);
  }
  await stopAll(fleet);
}

const OUTCOME = `SELECT coalesce(m.approved, false) AS "isApproved" FROM voxform_fleet.pulls p
LEFT JOIN voxform_fleet.pull_plans m USING (source, number)
WHERE p.number = $1 AND p.state = 'merged' AND coalesce(m.outcome, p.problem) IS NOT NULL`;

/** Waits until each open request has exactly one comment, for its newest commit, and a successful status. */
async function allReported(host: CodeHostFake, fleet: Fleet): Promise<void> {
  // The backoff after several consecutive faults can exceed MAX_WAIT_MS.
  host.faults.length = 0;
  await fleet.ground.passTime();
  for (const request of host.requests.filter(({ state }) => state === 'open')) {
    const { number, comments } = request;
    await until(`request ${number} is reported once`, () => {
      // A late fault may have killed all processes.
      startAll(fleet);
      const head = host.headOf(request) ?? '';
      const own = comments.filter(({ user }) => user === MACHINE);
      const isLast = host.statuses(head).at(-1)?.state === 'success';
      return isLast && own.length === 1 && own[0]?.body.includes(head.slice(0, 10)) === true;
    });
  }
}

/** Opens, pushes to, reviews, closes or merges a request of the project, as a person does. */
function actOn(
  { host, reviewed, merges, fleet: { figures } }: ReviewedFleet,
  { project, random }: { readonly project: string; readonly random: Random },
): void {
  const own = host.requests.filter(({ branch }) => branch.startsWith(`${project}-`));
  const open = own.find(({ state }) => state === 'open');
  const closed = own.find(({ state }) => state === 'closed');
  const edition = Number(host.nextId());
  const files = { [`${project}/manifests/all.yaml`]: manifestsOf(project, edition) };
  if (open === undefined) {
    if (closed !== undefined && random.chance(0.5)) host.reopen(closed.number);
    else host.openRequest({ branch: `${project}-${edition}`, files });
    return;
  }
  const { number } = open;
  const act = random.pick(['push', 'force', 'close', 'merge', 'reviewed'] as const);
  figures.count('actions on pull requests', act);
  if (act === 'push' || act === 'force') host.push(number, files, { force: act === 'force' });
  else if (act === 'close') host.closeRequest(number);
  else {
    if (act === 'reviewed') {
      host.review(number, 'bob', 'approve');
      const text = host.repository.text(host.headOf(open) ?? '', `${project}/manifests/all.yaml`) ?? '';
      for (const each of editionsIn(text)) reviewed.get(project)?.add(each);
    }
    host.mergeBy(number, random.pick(['merge', 'squash', 'rebase'] as const));
    // The fleet does not know a request that was merged before its first plan.
    if (open.comments.length > 0) merges.push({ project, number });
  }
}

async function until(description: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const since = performance.now(); !(await holds()); await delay(200))
    assert.ok(performance.now() - since < MAX_WAIT_MS, `not within ${MAX_WAIT_MS / 1000} s: ${description}`);
}
