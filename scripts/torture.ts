import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { buildCommand } from '../test/build-command.ts';
import { allCases } from './torture/all-cases.ts';
import { inParallel, runCase } from './torture/cases.ts';
import { Figures } from './torture/figures.ts';
import { killTrial, placesByTurns } from './torture/kills.ts';
import { endProcesses } from './torture/processes.ts';
import { Random } from './torture/random.ts';

/*
 * Attacks the built command with everything that the world may do to it, and prints what came of it:
 *   npm run torture -- [--seed TEXT] [--minutes N] [--kills N] [--only PATTERN] [--round N] [--backend NAME]
 * A round is every case once, in an order that the seed decides, and then kills for half as long. Without `--minutes` there is one
 * round; with it there are as many as fit, and nothing begins any more when the time is up.
 * `--backend git`, `postgres`, `http`, `s3` or `azure` attacks runs whose state is there, in place of a local one, `fleet` the processes of a fleet;
 * `all` all of them.
 * The exit code is 1 when an id was lost, a record made twice, a secret seen, or another promise not held.
 */

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now()) },
    minutes: { type: 'string', default: 'one round' },
    kills: { type: 'string', default: 'Infinity' },
    only: { type: 'string', default: '' },
    round: { type: 'string', default: '0' },
    backend: { type: 'string', default: 'local' },
  },
});

/** Runs of the command at once. */
const WIDTH = Math.max(2, Math.min(8, availableParallelism()));
const KILLS_A_TRIAL = 24;
/** Milliseconds that a round's kills get at least. */
const LEAST_FOR_KILLS = 60_000;

const isOneRound = values.minutes === 'one round';
const firstRound = numberFrom('round');
const mostKills = values.kills === 'Infinity' ? Number.POSITIVE_INFINITY : numberFrom('kills');
const startedAt = performance.now();
const end = isOneRound ? Number.POSITIVE_INFINITY : startedAt + numberFrom('minutes') * 60_000;
const only = new RegExp(values.only);
const isMeant = (backend: string): boolean => values.backend === 'all' || values.backend === backend;
const chosen = allCases.filter(
  ({ group, name, backend = 'local' }) => isMeant(backend) && only.test(`${group}: ${name}`),
);
const withKills = isMeant('local') && only.test('kills');
if (chosen.length === 0 && !withKills) misused(`no case of ${values.backend} matches ${values.only}`);

const random = new Random(values.seed);
const nextPlace = placesByTurns(random.branch('places'));
const figures = new Figures();
process.stdout.write(
  `seed ${values.seed}: again with npm run torture -- --seed ${values.seed} --backend ${values.backend}\n`,
);

// All temporary files of all cases, so that none can stay behind unseen.
const scratch = mkdtempSync(path.join(tmpdir(), 'voxform-torture-'));
process.env.TMPDIR = scratch;
const { folder: built, remove } = buildCommand();
const bench = { built, figures };
function clear(): void {
  endProcesses();
  remove();
  rmSync(scratch, { recursive: true, force: true });
}
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  process.once(signal, () => {
    clear();
    process.stdout.write(`\n${figures.table()}ended by ${signal}, seed ${values.seed}\n`);
    process.exit(code);
  });
}
try {
  await inParallel(jobs(), WIDTH);
  // The template of Git repositories goes when this process ends.
  const left = readdirSync(scratch).filter((name) => !name.startsWith('voxform-git-template-'));
  for (const name of left) figures.failed('temporary files', `${name} was left behind`);
} finally {
  clear();
}
const seconds = Math.round((performance.now() - startedAt) / 1000);
process.stdout.write(`\n${figures.table()}seconds ${seconds}, ${memory()}, seed ${values.seed}\n`);
if (!figures.isGood) process.exitCode = 1;

function* jobs(): Generator<() => Promise<void>> {
  for (let round = firstRound; ; round++) {
    const began = performance.now();
    const chance = random.branch(round);
    for (const each of chance.branch('order').shuffled(chosen)) {
      if (!isOver()) yield () => runCase(each, bench, chance.branch(each.name));
      else if (round === firstRound) figures.count('cases not reached', `${each.group}: ${each.name}`);
    }
    yield* trials(chance, performance.now() + Math.max(LEAST_FOR_KILLS, (performance.now() - began) / 2));
    process.stderr.write(`round ${round}: ${figures.of('runs of the command')} runs, ${memory()}\n`);
    if (isOneRound || isOver() || (chosen.length === 0 && isKilledEnough())) return;
  }
}

function* trials(chance: Random, until: number): Generator<() => Promise<void>> {
  const enough = () => performance.now() >= until || isOver() || isKilledEnough();
  for (let trial = 0; withKills && !enough(); trial++) {
    const options = { random: chance.branch(trial), mostKills: KILLS_A_TRIAL, nextPlace, isOver: enough };
    yield () => killTrial(bench, options).catch((error: unknown) => figures.failed('kills', error));
  }
}

function isOver(): boolean {
  return performance.now() >= end;
}

function isKilledEnough(): boolean {
  return figures.countOf('kills by place') >= mostKills;
}

function memory(): string {
  return `${Math.round(process.memoryUsage.rss() / 2 ** 20)} MB`;
}

function numberFrom(name: 'minutes' | 'kills' | 'round'): number {
  const number = Number(values[name]);
  return Number.isFinite(number) && number >= 0 ? number : misused(`--${name} takes a number, not "${values[name]}"`);
}

function misused(complaint: string): never {
  process.stderr.write(`${complaint}\n`);
  process.exit(64);
}
