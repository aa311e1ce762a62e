import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { endurance } from './bench/endurance.ts';
import { fleet } from './bench/fleet.ts';
import { growing } from './bench/growing.ts';
import { impactOfCalls } from './bench/impact.ts';
import { languageServer } from './bench/language-server.ts';
import { million } from './bench/million.ts';
import { pageLists } from './bench/page-lists.ts';
import { GROUPS, type Group, HEADER, rowText } from './bench/report.ts';
import { atSize } from './bench/rows.ts';
import { sharedStates } from './bench/shared-states.ts';
import { startUp } from './bench/starting.ts';
import { watching } from './bench/watching.ts';

const USAGE = `npm run bench -- [${GROUPS.join('|')}]... [--size 10000] [--large] [--rounds N] [--workspaces 10000] [--minutes N]`;

/** Slow groups, which are measured only if named. */
const SLOW_GROUPS: readonly Group[] = ['fleet', 'endurance', 'million'];

/*
 * Measures the built command, and compares it with the minimum cost of the same work on the same machine. `--large` adds 100,000 agents.
 * The groups fleet and million take half an hour each, and endurance more than an hour. A missed budget does not fail the bench: the
 * figures are for docs/operations.md.
 */

const { values, positionals } = parseOptions();
const rounds = positiveInteger('rounds', values.rounds);
const workspaces = positiveInteger('workspaces', values.workspaces ?? '10000');
const minutes = positiveInteger('minutes', values.minutes ?? '15');
const size = positiveInteger('size', values.size);
for (const name of positionals) if (!GROUPS.some((group) => group === name)) usageError(`no group ${name}`);
const wants = (group: Group): boolean =>
  positionals.includes(group) || (positionals.length === 0 && !SLOW_GROUPS.includes(group));

function parseOptions() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        size: { type: 'string', default: '10000' },
        large: { type: 'boolean', default: false },
        workspaces: { type: 'string' },
        minutes: { type: 'string' },
        rounds: { type: 'string', default: '3' },
      },
    });
  } catch (error) {
    return usageError(error instanceof Error ? error.message : String(error));
  }
}

function positiveInteger(option: string, text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  return usageError(`--${option}: ${JSON.stringify(text)} is not a positive integer`);
}

function usageError(message: string): never {
  process.stderr.write(`${message}\n${USAGE}\n`);
  process.exit(2);
}

const root = path.resolve(import.meta.dirname, '..');
execFileSync(process.execPath, [path.join(root, 'scripts', 'build.ts')], { stdio: 'inherit' });
const folder = mkdtempSync(path.join(tmpdir(), 'voxform-bench-'));
process.once('SIGINT', () => process.exit(130));
// Exit if the reader of the rows closes the pipe.
process.stdout.once('error', () => process.exit(0));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
// Keep measured runs from writing to the user's home.
process.env.XDG_STATE_HOME = path.join(folder, 'states');
process.env.XDG_CACHE_HOME = path.join(folder, 'caches');

const write = (text: string) => process.stdout.write(`${text}\n`);
write(
  `Node ${process.version}, ${availableParallelism()} cores of ${cpus()[0]?.model ?? 'an unknown make'}, ${Math.round(totalmem() / 2 ** 30)} GiB\n`,
);
write(HEADER);
const bench = {
  bin: path.join(root, 'dist', 'main.js'),
  folder,
  rounds,
  wants,
  emit: (row: Parameters<typeof rowText>[0]) => write(rowText(row)),
};
if (wants('start')) await startUp(bench);
const bySize = (['validate', 'plan', 'apply', 'export'] as const).some(wants);
if (bySize) await atSize(bench, size);
if (bySize && values.large) await atSize(bench, 100_000);
if (wants('growth')) await growing(bench, size);
if (wants('impact')) await impactOfCalls(bench, size * 100);
if (wants('state')) await sharedStates(bench, size);
if (wants('watch')) await watching(bench);
if (wants('lsp')) await languageServer(bench);
if (wants('page')) await pageLists(bench);
if (wants('fleet')) await fleet(bench, { workspaces, minutes });
if (wants('endurance')) await endurance(bench, { workspaces, minutes: values.minutes === undefined ? 60 : minutes });
if (wants('million')) await million(bench, values.workspaces === undefined ? 1_000_000 : workspaces);
