import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { buildCommand } from '../test/build-command.ts';
import { allCases } from './torture/all-cases.ts';
import { inParallel, runCase } from './torture/cases.ts';
import { Figures } from './torture/figures.ts';
import { killPointsInTurn, killTrial } from './torture/kills.ts';
import { killProcesses } from './torture/processes.ts';
import { Random } from './torture/random.ts';

/*
 * Runs the fault campaign against the built command, and prints its figures:
 *   npm run torture -- [--seed TEXT] [--minutes N] [--only PATTERN] [--round N] [--backend NAME]
 * A round runs each case once, in an order derived from the seed, and then kills runs for half as long. Without `--minutes`, there is one
 * round. With it, rounds repeat until the time is up, and no case starts after that.
 * `--backend git`, `postgres`, `http`, `s3` or `azure` keeps the state there instead of in a local file. `fleet` attacks the processes of
 * a fleet, and `all` includes every backend.
 * The exit code is 1 if an id was lost, a record was created twice, a secret was printed, or another check failed.
 */

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now()) },
    minutes: { type: 'string', default: 'one round' },
    only: { type: 'string', default: '' },
    round: { type: 'string', default: '0' },
    backend: { type: 'string', default: 'local' },
  },
});

/** The number of cases that run at the same time. */
const CONCURRENCY = Math.max(2, Math.min(8, availableParallelism()));
const KILLS_PER_TRIAL = 24;
/** The minimum duration of the kills of a round. */
const MIN_KILL_TIME_MS = 60_000;

const isOneRound = values.minutes === 'one round';
const firstRound = numberFrom('round');
const startedAt = performance.now();
const end = isOneRound ? Number.POSITIVE_INFINITY : startedAt + numberFrom('minutes') * 60_000;
const only = new RegExp(values.only);
const isSelected = (backend: string): boolean => values.backend === 'all' || values.backend === backend;
const selectedCases = allCases.filter(
  ({ group, name, backend = 'local' }) => isSelected(backend) && only.test(`${group}: ${name}`),
);
const withKills = isSelected('local') && only.test('kills');
if (selectedCases.length === 0 && !withKills) usageError(`no case of ${values.backend} matches ${values.only}`);

const random = new Random(values.seed);
const nextKillPoint = killPointsInTurn(random.branch('places'));
const figures = new Figures();
process.stdout.write(
  `seed ${values.seed}; to repeat: npm run torture -- --seed ${values.seed} --backend ${values.backend}\n`,
);

// All cases keep their temporary files here, so that the check at the end finds leftover files.
const scratch = mkdtempSync(path.join(tmpdir(), 'voxform-torture-'));
process.env.TMPDIR = scratch;
const { folder: built, remove } = buildCommand();
const bench = { built, figures };
function cleanUp(): void {
  killProcesses();
  remove();
  rmSync(scratch, { recursive: true, force: true });
}
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  process.once(signal, () => {
    cleanUp();
    process.stdout.write(`\n${figures.table()}stopped by ${signal}, seed ${values.seed}\n`);
    process.exit(code);
  });
}
try {
  await inParallel(jobs(), CONCURRENCY);
  // The template of Git repositories is removed when this process exits.
  const leftovers = readdirSync(scratch).filter((name) => !name.startsWith('voxform-git-template-'));
  for (const name of leftovers) figures.addFailure('temporary files', `${name} was not removed`);
} finally {
  cleanUp();
}
const seconds = Math.round((performance.now() - startedAt) / 1000);
process.stdout.write(`\n${figures.table()}seconds ${seconds}, ${memory()}, seed ${values.seed}\n`);
if (!figures.hasPassed) process.exitCode = 1;

function* jobs(): Generator<() => Promise<void>> {
  for (let round = firstRound; ; round++) {
    const roundStartedAt = performance.now();
    const roundRandom = random.branch(round);
    for (const each of roundRandom.branch('order').shuffled(selectedCases)) {
      if (!isOver()) yield () => runCase(each, bench, roundRandom.branch(each.name));
      else if (round === firstRound) figures.count('cases not reached', `${each.group}: ${each.name}`);
    }
    yield* trials(
      roundRandom,
      performance.now() + Math.max(MIN_KILL_TIME_MS, (performance.now() - roundStartedAt) / 2),
    );
    process.stderr.write(`round ${round}: ${figures.total('runs of the command')} runs, ${memory()}\n`);
    if (isOneRound || isOver()) return;
  }
}

function* trials(roundRandom: Random, until: number): Generator<() => Promise<void>> {
  const isTimeUp = () => performance.now() >= until || isOver();
  for (let trial = 0; withKills && !isTimeUp(); trial++) {
    const options = { random: roundRandom.branch(trial), maxKills: KILLS_PER_TRIAL, nextKillPoint, isOver: isTimeUp };
    yield () => killTrial(bench, options).catch((error: unknown) => figures.addFailure('kills', error));
  }
}

function isOver(): boolean {
  return performance.now() >= end;
}

function memory(): string {
  return `${Math.round(process.memoryUsage.rss() / 2 ** 20)} MB`;
}

function numberFrom(name: 'minutes' | 'round'): number {
  const number = Number(values[name]);
  return Number.isFinite(number) && number >= 0
    ? number
    : usageError(`--${name} takes a number, not "${values[name]}"`);
}

function usageError(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(64);
}
