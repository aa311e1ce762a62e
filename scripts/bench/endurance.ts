import { once } from 'node:events';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { FleetSample } from './fleet-figures.ts';
import { type Created, type Platform, sum } from './processes.ts';
import type { Bench, Row } from './report.ts';
import { RunningFleet } from './running-fleet.ts';
import {
  agentAddress,
  FLEET_AGENTS,
  FLEET_WORKSPACES,
  fleetAddress,
  fleetManifest,
  fleetWorkspaceId,
  fleetWorkspaces,
  manifestText,
  mannerOf,
} from './workload.ts';

/** The interval between changes of a project. Each updates an agent and adds one. */
const CHANGE_INTERVAL_MS = 2000;
/** Tables with histories, or that grow with the number of agents. */
const GROWING_TABLES = new Set(['states', 'history', 'earlier', 'search_terms', 'runs', 'trends']);

interface Sample extends FleetSample {
  /** The current and the maximum resident memory of each replica, in MiB. */
  readonly resident: readonly number[];
  readonly largest: readonly number[];
}

/** Measures a fleet that applies changes while its processes are killed, its database is restarted, and 1 % of the platforms are slow or failing. */
export async function endurance(
  bench: Bench,
  { workspaces, minutes }: { readonly workspaces: number; readonly minutes: number },
): Promise<void> {
  const urlOf = ({ urls }: Platform, workspace: number): string =>
    `${urls[mannerOf(projectOf(workspace))]}/${fleetWorkspaceId(workspace)}`;
  await using running = await RunningFleet.start(bench, { workspaces, mode: 'apply', urlOf });
  await new Endurance(running, bench, { workspaces, minutes }).measure();
}

class Endurance {
  readonly #fleet: RunningFleet;
  readonly #bench: Bench;
  readonly #workspaces: number;
  readonly #durationMs: number;
  /** The interval between kills. */
  readonly #periodMs: number;
  /** The addresses of the workspaces on failing platforms. */
  readonly #failing: readonly string[];
  readonly #samples: Sample[] = [];
  #startedAt = 0;
  #changes = 0;
  #kills = 0;
  #unexpectedExits = 0;
  #restarts = 0;

  constructor(
    fleet: RunningFleet,
    bench: Bench,
    { workspaces, minutes }: { readonly workspaces: number; readonly minutes: number },
  ) {
    this.#fleet = fleet;
    this.#bench = bench;
    this.#workspaces = workspaces;
    this.#durationMs = minutes * 60_000;
    this.#periodMs = Math.min(60_000, this.#durationMs / 4);
    const numbers = Array.from({ length: workspaces }, (_, workspace) => workspace);
    this.#failing = numbers.filter(isFailing).map(fleetAddress);
  }

  async measure(): Promise<void> {
    await this.#allInSync(0);
    await this.#fleet.figures.begin();
    this.#startedAt = Date.now();
    const works = await Promise.allSettled([this.#change(), this.#kill(), this.#restart()]);
    for (const work of works) if (work.status === 'rejected') say(`failed: ${work.reason}`);
    const groups = [() => this.#summarize(), () => this.#compare(), () => this.#settle(), () => this.#count()];
    // A failed group must not discard the figures of the others after an hour.
    for (const group of groups) await group().catch((error: unknown) => say(`failed: ${error}`));
  }

  async #summarize(): Promise<void> {
    const { runs, seconds, lateness } = await this.#fleet.figures.end();
    this.#emit('runs begun a second', runs / seconds, 'runs/s');
    this.#emit('kills of a process', this.#kills, 'times');
    this.#emit('restarts of PostgreSQL after a crash', this.#restarts, 'times');
    this.#emit('lateness, median', lateness.median, 's');
    this.#emit('lateness, 99 %', lateness.high, 's');
    this.#emit('lateness, most', lateness.most, 's', 60);
  }

  /** Waits until every workspace whose platform does not fail is in sync. */
  async #settle(): Promise<void> {
    const since = Date.now();
    await this.#allInSync(since).catch((error: unknown) => say(String(error)));
    const checked = await this.#fleet.figures.checked({ since, others: this.#failing });
    this.#emit('processes that ended by themselves', this.#unexpectedExits, 'times', 0);
    this.#emit('not in sync at the end, sound platforms', this.#sound - checked, 'workspaces', 0);
  }

  get #sound(): number {
    return this.#workspaces - this.#failing.length;
  }

  get #projects(): number {
    return this.#workspaces / FLEET_WORKSPACES.length;
  }

  /** Waits until all workspaces are in sync. Throws after three intervals and five minutes. */
  async #allInSync(since: number): Promise<void> {
    const until = Date.now() + 3 * this.#fleet.interval * 1000 + 300_000;
    const each = (): void => {
      this.#revive();
      if (Date.now() > until) throw new Error('not all workspaces are in sync');
    };
    await this.#fleet.figures.allChecked(this.#sound, each, { since, others: this.#failing });
  }

  /** Adds an agent to a project, and updates another one. */
  async #change(): Promise<void> {
    const { projects } = this.#fleet;
    while (this.#isOn()) {
      const nth = this.#changes++;
      const project = nth % this.#projects;
      const added = fleetManifest(projects, project, this.#agentOf(nth));
      writeFileSync(added, manifestText(this.#agentOf(nth)));
      appendFileSync(fleetManifest(projects, project, 0), '      - Say goodbye.\n');
      await this.#until(this.#changes * CHANGE_INTERVAL_MS);
    }
  }

  /** Returns the number of the agent that a change adds. */
  #agentOf(change: number): number {
    return this.#projects * FLEET_AGENTS + change;
  }

  /** Kills the replicas in turn, each after a sample. */
  async #kill(): Promise<void> {
    const { replicas } = this.#fleet;
    for (let nth = 0; this.#isOn(); nth++) {
      await this.#until((nth + 1) * this.#periodMs);
      await this.#sample().catch((error: unknown) => say(`no sample: ${error}`));
      this.#revive();
      const replica = replicas[nth % replicas.length];
      if (replica === undefined) continue;
      const ended = once(replica, 'exit');
      replica.kill('SIGKILL');
      await ended;
      this.#fleet.startReplica(nth % replicas.length);
      this.#kills++;
    }
  }

  /** Starts replicas that ended by themselves. */
  #revive(): void {
    for (const [nth, { exitCode, signalCode }] of this.#fleet.replicas.entries()) {
      if (exitCode === null && signalCode === null) continue;
      say(`replica ${nth + 1} ended by itself with ${exitCode ?? signalCode}`);
      this.#unexpectedExits++;
      this.#fleet.startReplica(nth);
    }
  }

  /** Crashes and restarts the database twice, between two kills. */
  async #restart(): Promise<void> {
    for (const part of [1 / 3, 2 / 3]) {
      await this.#until(Math.round((part * this.#durationMs) / this.#periodMs) * this.#periodMs + this.#periodMs / 2);
      await this.#fleet.server.stop('QUIT');
      await this.#fleet.server.start();
      this.#restarts++;
    }
  }

  async #sample(): Promise<void> {
    const figures = await this.#fleet.figures.sample(this.#periodMs / 1000, this.#failing);
    const statuses = this.#fleet.replicas.map(({ pid }) => readFileSync(`/proc/${pid}/status`, 'utf8'));
    const mebibytes = (name: string) =>
      statuses.map((status) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024);
    const sample = { ...figures, resident: mebibytes('VmRSS'), largest: mebibytes('VmHWM') };
    this.#samples.push(sample);
    const { median, high, most } = sample.lateness;
    say(
      `${Math.round((Date.now() - this.#startedAt) / 1000)} s: late ${[median, high, most].map((each) => each.toFixed(1)).join(', ')} s,` +
        ` unchecked ${sample.unchecked.toFixed(0)} s, resident ${sample.resident.map(Math.round).join(' and ')} MiB,` +
        ` ${sample.connections} connections, tables ${bounded(sample).toFixed(1)} MiB and ${kept(sample).toFixed(1)} MiB,` +
        ` ${sample.runs} runs, ${this.#changes} changes, ${this.#kills} kills, ${this.#restarts} restarts`,
    );
  }

  /** Compares the last quarter of the samples with the first. */
  async #compare(): Promise<void> {
    const quarter = Math.ceil(this.#samples.length / 4);
    const first = this.#samples.slice(0, quarter);
    const last = this.#samples.slice(-quarter);
    const flat = (what: string, of: (sample: Sample) => number, unit: Row['unit'], budget?: number): void => {
      const [before, value] = [first, last].map((some) => mean(some.map(of)));
      this.#emit(`${what}, last quarter`, value ?? Number.NaN, unit, budget, before);
    };
    flat('lateness, median', ({ lateness }) => lateness.median, 's');
    flat('lateness, most of a period', ({ lateness }) => lateness.most, 's', 1.25);
    flat('oldest check', ({ unchecked }) => unchecked, 's', 1.25);
    flat('memory of the processes', ({ resident }) => sum(resident), 'MiB', 1.25);
    flat('connections of PostgreSQL', ({ connections }) => connections, 'connections', 1.25);
    flat('tables without states and histories', bounded, 'MiB', 1.25);
    flat('states, histories, search', kept, 'MiB');
    flat('rows of runs', ({ runs }) => runs, 'records');
    this.#emit('memory of a process, most', Math.max(...this.#samples.flatMap(({ largest }) => largest)), 'MiB', 400);
    const [start, end] = [this.#samples[0], this.#samples.at(-1)];
    for (const [table, size] of Object.entries(end?.tables ?? {}))
      if (size > 1) say(`${table}: ${start?.tables[table]?.toFixed(1)} MiB, then ${size.toFixed(1)} MiB`);
  }

  /** Compares the created records, the states and the manifests. */
  async #count(): Promise<void> {
    const created = await this.#fleet.platform.created();
    const declared = Array.from({ length: this.#changes }, (_, nth) => this.#declaredBy(nth)).flat();
    const resources = [...new Set(declared.map(({ resource }) => resource))];
    const states = await this.#fleet.figures.statesOf(
      [...new Set(declared.map(({ workspace }) => workspace))],
      resources,
    );
    const ids = new Set(states.map(({ id }) => id));
    const found = new Map(states.map((each) => [keyOf(each), each]));
    const isUnknown = (key: string): boolean => found.has(key) && found.get(key)?.id === undefined;
    const lost = created.filter((each) => each.isAnswered && !ids.has(each.id) && !isUnknown(keyOfCreated(each)));
    const duplicates = created.length - new Set(created.map(keyOfCreated)).size;
    const missing = declared.filter((each) => !each.isFailing && !found.has(keyOf(each)));
    const unknown = declared.filter((each) => isUnknown(keyOf(each)));
    this.#emit('declared records', declared.length, 'records');
    this.#emit('created records', created.length, 'records');
    this.#emit('lost', lost.length, 'records', 0);
    this.#emit('duplicates', duplicates, 'records', 0);
    this.#emit('missing, sound platforms', missing.length, 'records', 0);
    const [failing, sound] = [true, false].map((is) => unknown.filter(({ isFailing }) => isFailing === is).length);
    this.#emit('unknown after a kill, sound platforms', sound ?? Number.NaN, 'records');
    this.#emit('unknown, failing platforms', failing ?? Number.NaN, 'records');
    for (const { workspaceId, name, id } of lost) say(`lost: ${id} of ${name} in ${workspaceId}`);
    for (const { workspace, resource } of missing) say(`missing: ${resource} of ${workspace}`);
  }

  #declaredBy(change: number) {
    return fleetWorkspaces(change % this.#projects).map((workspace) => ({
      workspace: fleetAddress(workspace),
      resource: agentAddress(this.#agentOf(change)),
      isFailing: isFailing(workspace),
    }));
  }

  #isOn(): boolean {
    return Date.now() - this.#startedAt < this.#durationMs;
  }

  /** Waits until this time after the start. */
  async #until(milliseconds: number): Promise<void> {
    await setTimeout(Math.max(0, this.#startedAt + milliseconds - Date.now()));
  }

  #emit(what: string, value: number, unit: Row['unit'], budget?: number, before?: number): void {
    this.#bench.emit({
      what: `endurance of ${this.#workspaces}: ${what}`,
      floor: before === undefined ? '' : 'first quarter',
      floorValue: before,
      value,
      ...(unit !== undefined && { unit }),
      budget,
    });
  }
}

function isFailing(workspace: number): boolean {
  return mannerOf(projectOf(workspace)) === 'failing';
}

function projectOf(workspace: number): number {
  return Math.floor(workspace / FLEET_WORKSPACES.length);
}

function keyOf({ workspace, resource }: { readonly workspace: string; readonly resource: string }): string {
  return `${workspace} ${resource}`;
}

function keyOfCreated({ workspaceId, name }: Created): string {
  const workspace = fleetAddress(Number(workspaceId.slice(fleetWorkspaceId(0).length - 8)));
  return keyOf({ workspace, resource: agentAddress(Number(name.slice('Line '.length))) });
}

function kept({ tables }: Sample): number {
  return sum(Object.entries(tables).map(([name, size]) => (GROWING_TABLES.has(name) ? size : 0)));
}

function bounded(sample: Sample): number {
  return sum(Object.values(sample.tables)) - kept(sample);
}

function mean(numbers: readonly number[]): number {
  return sum(numbers) / numbers.length;
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
