import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { HEADER, rowText } from './bench/report.ts';
import { atSize, type Costs, growth, withNothing } from './bench/rows.ts';
import { sharedStates } from './bench/shared-states.ts';
import { startUp } from './bench/starting.ts';

/*
 * Measures the built command against the least that the same work costs, in the same run:
 *   npm run bench -- [--sizes 100,1000,10000] [--large] [--rounds N]
 * `--large` adds 100,000 agents. It fails on nothing: the figures are for docs/performance.md.
 */

const values = given();
const rounds = counted('rounds', values.rounds);
const sizes = values.sizes.split(',').map((size) => counted('sizes', size));
if (values.large) sizes.push(100_000);

function given() {
  try {
    return parseArgs({
      options: {
        sizes: { type: 'string', default: '100,1000,10000' },
        large: { type: 'boolean', default: false },
        rounds: { type: 'string', default: '3' },
      },
    }).values;
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

function counted(option: string, text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  return refuse(`--${option}: ${JSON.stringify(text)} is no whole number from 1 on`);
}

function refuse(why: string): never {
  process.stderr.write(`${why}\nnpm run bench -- [--sizes 100,1000,10000] [--large] [--rounds N]\n`);
  process.exit(2);
}

const root = path.resolve(import.meta.dirname, '..');
execFileSync(process.execPath, [path.join(root, 'scripts', 'build.ts')], { stdio: 'inherit' });
const folder = mkdtempSync(path.join(tmpdir(), 'voxform-bench-'));
process.once('SIGINT', () => process.exit(130));
// Whoever read the rows has gone.
process.stdout.once('error', () => process.exit(0));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

const write = (text: string) => process.stdout.write(`${text}\n`);
write(
  `Node ${process.version}, ${availableParallelism()} cores of ${cpus()[0]?.model ?? 'an unknown make'}, ${Math.round(totalmem() / 2 ** 30)} GiB\n`,
);
write(HEADER);
const bench = {
  bin: path.join(root, 'dist', 'main.js'),
  folder,
  rounds,
  emit: (row: Parameters<typeof rowText>[0]) => write(rowText(row)),
};
await startUp(bench);
const costs = new Map<number, Costs>();
for (const size of sizes) costs.set(size, await atSize(bench, size));
growth(bench, costs, await withNothing(bench));
for (const size of sizes) if (size <= 10_000) await sharedStates(bench, size);
