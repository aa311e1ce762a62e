import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { userFolder } from '../../src/files/user-folder.ts';
import type { Manner } from './workload.ts';

export interface Run {
  /** The time from the start of the process to its end. */
  readonly seconds: number;
  /** The maximum resident memory in MiB; only with `memory`. */
  readonly mebibytes: number | undefined;
  /** User and system time in seconds; only with `memory`. */
  readonly processor: number | undefined;
  /** The number of file syncs and of bytes written; only with `memory`. */
  readonly syncs: number | undefined;
  readonly bytes: number | undefined;
  readonly stdout: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Measures memory and processor time too. This loads a module before the program, so start-up is slower. */
  readonly memory?: boolean;
}

const REPORT_MEMORY = path.join(import.meta.dirname, 'report-memory.ts');

/** Runs a script in a new Node process. Throws if it fails. */
export async function runNode(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  const folder = options.memory ? mkdtempSync(path.join(tmpdir(), 'voxform-bench-memory-')) : undefined;
  const report = folder === undefined ? undefined : path.join(folder, 'kilobytes');
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...(report === undefined ? [] : ['--import', REPORT_MEMORY]), ...args], {
    cwd: options.cwd,
    env: {
      ...process.env,
      ...options.env,
      ...(report !== undefined && { BENCH_MEMORY_REPORT: report }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [exitCode] = (await once(child, 'close')) as [number | null];
  const seconds = (performance.now() - startedAt) / 1000;
  if (exitCode !== 0) {
    throw new Error(`${args.join(' ')} ended with ${exitCode}:\n${stderr.slice(-2000)}${stdout.slice(-500)}`);
  }
  const figures = report === undefined ? [] : readFileSync(report, 'utf8').split(' ').map(Number);
  const [kilobytes, microseconds, syncs, bytes] = figures;
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  return {
    seconds,
    mebibytes: kilobytes && kilobytes / 1024,
    processor: microseconds && microseconds / 1e6,
    syncs,
    bytes,
    stdout,
  };
}

interface Figures {
  readonly requests: number;
  readonly byMethod: Readonly<Record<string, number>>;
  /** The processor time in seconds since the start. */
  readonly processor: number;
  /** The figures without the first 3,000 requests. */
  readonly settled: { readonly requests: number; readonly refused: number; readonly maxConcurrency: number };
}

/** The number of concurrent requests that a platform serves, and how it treats more. */
export interface Capacity {
  readonly requests: number;
  readonly beyond: 'refuse' | 'queue';
}

/** A record that the platform of a fleet created. */
export interface Created {
  readonly workspaceId: string;
  readonly name: string;
  readonly id: string;
  /** True if the response was sent to the client. */
  readonly isAnswered: boolean;
}

export interface Platform {
  readonly baseUrl: string;
  /** The base URLs for a fleet, by manner. */
  readonly urls: Readonly<Record<Manner, string>>;
  created(): Promise<readonly Created[]>;
  /** Returns the figures since the start or the last reset. */
  figures(): Promise<Figures>;
  reset(): Promise<void>;
  stop(): Promise<void>;
}

/** A loop of reads or creates without voxform. */
export const BARE_LOOP = path.join(import.meta.dirname, 'bare-loop.ts');
/** The YAML parser without voxform. */
export const YAML_FLOOR = path.join(import.meta.dirname, 'yaml-floor.ts');

/** Removes the cache of parsed manifests, so that the next run is cold. */
export function removeManifestCache(): void {
  const caches = userFolder('cache', process.env);
  if (caches !== undefined) rmSync(path.join(caches, 'manifests'), { recursive: true, force: true });
}

/** A project whose state has every agent. */
export interface Applied {
  readonly agents: number;
  readonly project: string;
  voxform(args: readonly string[], options?: RunOptions): Promise<Run>;
}

const SERVER = path.join(import.meta.dirname, 'platform-server.ts');

/** Starts the minimal platform with this many agents, of one workspace or of a fleet, in a separate process. */
export async function startPlatform(
  agents: number,
  latencyMilliseconds: number,
  {
    requests = Number.POSITIVE_INFINITY,
    beyond = 'queue',
    isFleet = false,
  }: Partial<Capacity> & { readonly isFleet?: boolean } = {},
): Promise<Platform> {
  const limits = [requests, beyond, ...(isFleet ? ['fleet'] : [])];
  const child = fork(SERVER, [agents, latencyMilliseconds, ...limits].map(String));
  const { ports } = await nextMessage<{ ports: Record<Manner, number> }>(child);
  const urlOf = (manner: Manner): string => `http://127.0.0.1:${ports[manner]}`;
  return {
    baseUrl: urlOf('sound'),
    urls: { sound: urlOf('sound'), slow: urlOf('slow'), failing: urlOf('failing') },
    async created() {
      child.send('created');
      return nextMessage(child);
    },
    async figures() {
      child.send('figures');
      return nextMessage(child);
    },
    async reset() {
      child.send('reset');
      await nextMessage(child);
    },
    async stop() {
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}

async function nextMessage<T>(child: ChildProcess): Promise<T> {
  const [message] = await once(child, 'message');
  return message as T;
}

/** Returns the median; for an even count, the lower of the two middle values. */
export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

/** Returns the median seconds of each run. The runs alternate, so that a slow phase of the machine affects all of them. */
export async function interleaved<Name extends string>(
  rounds: number,
  runs: Readonly<Record<Name, () => Promise<Run>>>,
): Promise<Record<Name, number>> {
  const names = Object.keys(runs) as Name[];
  const seconds = new Map<Name, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of names) seconds.get(name)?.push((await runs[name]()).seconds);
  }
  return Object.fromEntries(names.map((name) => [name, median(seconds.get(name) ?? [])])) as Record<Name, number>;
}
