import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { buildCommand } from '../test/build-command.ts';
import { allCases } from './torture/all-cases.ts';
import { inParallel, runCase } from './torture/cases.ts';
import { Figures } from './torture/figures.ts';
import { killTrial, placesByTurns } from './torture/kills.ts';
import { Random } from './torture/random.ts';

/*
 * Attacks the built command with everything that the world may do to it, and prints what came of it:
 *   npm run torture -- [--seed TEXT] [--minutes N] [--kills N] [--only PATTERN] [--trial N]
 * The exit code is 1 when an id was lost, a record made twice, a secret seen, or another promise not held.
 */

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now()) },
    minutes: { type: 'string', default: '3' },
    kills: { type: 'string', default: '1000' },
    only: { type: 'string' },
    trial: { type: 'string', default: '0' },
  },
});

/** Runs of the command at once. */
const WIDTH = Math.max(2, Math.min(8, availableParallelism()));
const KILLS_A_TRIAL = 24;

const startedAt = performance.now();
const random = new Random(values.seed);
const figures = new Figures();
const milliseconds = numberFrom('minutes') * 60_000;
const mostKills = numberFrom('kills');
process.stdout.write(`seed ${values.seed}: again with npm run torture -- --seed ${values.seed}\n`);

const { folder: built, remove } = buildCommand();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    remove();
    process.exit(1);
  });
}
try {
  const bench = { built, figures };
  const only = new RegExp(values.only ?? '');
  const chosen = allCases.filter(({ group, name }) => only.test(`${group}: ${name}`));
  await inParallel(
    chosen.map((each) => () => runCase(each, bench)),
    WIDTH,
  );
  const nextPlace = placesByTurns(random.branch('places'));
  // However long the rest took on this machine, the kills get their share.
  const deadline = Math.max(startedAt + milliseconds, performance.now() + milliseconds / 3);
  const isOver = () => performance.now() >= deadline || figures.countOf('kills by place') >= mostKills;
  await inParallel(trials(), WIDTH);

  function* trials(): Generator<() => Promise<void>> {
    for (let trial = numberFrom('trial'); only.test('kills') && !isOver(); trial++) {
      const options = { random: random.branch(trial), mostKills: KILLS_A_TRIAL, nextPlace, isOver };
      yield () => killTrial(bench, options).catch((error: unknown) => figures.failed('kills', error));
    }
  }
} finally {
  remove();
}
const seconds = Math.round((performance.now() - startedAt) / 1000);
process.stdout.write(`\n${figures.table()}seconds ${seconds}, seed ${values.seed}\n`);
if (!figures.isGood) process.exitCode = 1;

function numberFrom(name: 'minutes' | 'kills' | 'trial'): number {
  const number = Number(values[name]);
  if (Number.isFinite(number) && number >= 0) return number;
  process.stderr.write(`--${name} takes a number, not "${values[name]}"\n`);
  process.exit(64);
}
