import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { unwrapped } from './expectations.ts';
import { APPLY, type Bench, Lab, type LabOptions } from './lab.ts';
import type { ProcessResult, RunningProcess } from './processes.ts';
import type { Random } from './random.ts';
import { RECIPIENT } from './secrets.ts';
import type { LocationKind, SharedLocation } from './shared-locations.ts';

/** For Node's option `--import`. */
export const SIMULATED_MACHINE = pathToFileURL(path.join(import.meta.dirname, 'simulated-machine.ts')).href;

/** The time without a heartbeat after which every backend takes over a lock, whatever the clock skew. */
const TAKEOVER_SECONDS = 900;
const MAX_SKEW_SECONDS = 55;

export interface MachinesOptions extends Pick<LabOptions, 'manifests'> {
  readonly kind: LocationKind;
  readonly random: Random;
  readonly count: number;
}

/** Simulated machines, each with its own folder, home, host name and clock, whose runs share a state. */
export class Machines implements AsyncDisposable {
  readonly lab: Lab;
  readonly location: SharedLocation;
  /** True if the state is encrypted. */
  readonly isSealed: boolean;
  readonly names: readonly string[];
  readonly #skews: ReadonlyMap<string, number>;
  readonly #running = new Map<string, RunningProcess>();
  /** The simulated time that has passed on all machines. */
  #passedSeconds = 0;
  readonly #clock: string;

  private constructor(
    { lab, location, isSealed }: Pick<Machines, 'lab' | 'location' | 'isSealed'>,
    skews: ReadonlyMap<string, number>,
  ) {
    this.isSealed = isSealed;
    this.lab = lab;
    this.location = location;
    this.names = [...skews.keys()];
    this.#skews = skews;
    this.#clock = path.join(lab.root, 'clock');
    writeFileSync(this.#clock, '0');
  }

  static async open(bench: Bench, { kind, random, count, manifests }: MachinesOptions): Promise<Machines> {
    const location = await kind.start();
    const isSealed = random.chance(0.5);
    const seal = { recipients: [RECIPIENT], identity: { $secret: 'STATE_IDENTITY' } };
    const lab = await Lab.open(bench, {
      seed: random.seed,
      location,
      project: `state: ${JSON.stringify({ ...location.settings, ...(isSealed && { seal }) })}\n`,
      env: { PATH: process.env.PATH ?? '', ...location.env },
      ...(manifests !== undefined && { manifests }),
    });
    location.prepare?.(lab.root);
    const names = Array.from({ length: count }, (_, index) => `machine-${index + 1}`);
    const machines = new Machines(
      { lab, location, isSealed },
      new Map(names.map((name) => [name, random.int(-MAX_SKEW_SECONDS, MAX_SKEW_SECONDS)])),
    );
    for (const name of names) {
      for (const file of ['voxform.yaml', 'manifests/all.yaml']) {
        lab.write(`${name}/project/${file}`, lab.read(file));
      }
      mkdirSync(path.join(lab.root, name, 'home'));
      location.prepare?.(machines.folderOf(name));
    }
    return machines;
  }

  folderOf(name: string): string {
    return path.join(this.lab.root, name, 'project');
  }

  apply(name: string, ...flags: readonly string[]): RunningProcess {
    return this.applyOn({ name, freeze: 0 }, ...flags);
  }

  /** @param freeze the number of the write before which the process stops itself; 0 for none. */
  applyOn(
    { name, freeze }: { readonly name: string; readonly freeze: number },
    ...flags: readonly string[]
  ): RunningProcess {
    const ahead = this.#skews.get(name) ?? 0;
    const run = this.lab.start([...APPLY, ...flags], {
      cwd: this.folderOf(name),
      env: { HOME: path.join(this.lab.root, name, 'home') },
      node: ['--import', `${SIMULATED_MACHINE}?host=${name}&ahead=${ahead}&clock=${this.#clock}&freeze=${freeze}`],
    });
    this.#running.set(name, run);
    const onExit = (): void => {
      if (this.#running.get(name) === run) this.#running.delete(name);
    };
    run.ended.then(onExit, onExit);
    return run;
  }

  /** Returns the name of the machine whose run holds the lock. */
  async holder(): Promise<string | undefined> {
    return (await this.location.store.holder())?.host;
  }

  /** Kills the holder of the lock, or a random run if there is none. All runs are stopped meanwhile. */
  async killOne(random: Random): Promise<void> {
    const runs = [...this.#running];
    for (const [, { child }] of runs) child.kill('SIGSTOP');
    try {
      const holder = await this.holder();
      const [, victim] = runs.find(([name]) => name === holder) ?? (runs[0] && random.pick(runs)) ?? [];
      victim?.child.kill('SIGKILL');
    } catch (error) {
      this.lab.figures.addFailure('reading the lock', error);
    } finally {
      for (const [, { child }] of runs) child.kill('SIGCONT');
    }
  }

  /** Advances all clocks, so that a dead holder loses its lock. */
  async passTime(): Promise<void> {
    this.#passedSeconds += TAKEOVER_SECONDS;
    writeFileSync(this.#clock, String(this.#passedSeconds));
    await this.location.advanceClock?.(TAKEOVER_SECONDS);
  }

  /** Releases the lock of a killed run, as a person does. */
  async unlock(): Promise<void> {
    // A late write of the killed run may renew its lock.
    for (let holder = await this.location.store.holder(); holder; holder = await this.location.store.holder()) {
      await this.lab.run('state', 'unlock', holder.id);
    }
  }

  /** The machines with rescue files, which are written if the state cannot be reached. */
  get machinesWithRescueFiles(): readonly string[] {
    return this.names.filter((name) => {
      const folder = path.join(this.folderOf(name), '.voxform', 'rescue');
      return existsSync(folder) && readdirSync(folder).length > 0;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const run of this.#running.values()) run.child.kill('SIGKILL');
    await Promise.allSettled([...this.#running.values()].map(({ ended }) => ended));
    await this.lab[Symbol.asyncDispose]();
    await this.location[Symbol.asyncDispose]();
  }
}

/** Checks that a run succeeded, was killed, or reported another holder of the lock. */
export function succeededOrLocked({ code, signal, stdout, stderr }: ProcessResult): void {
  if (signal === 'SIGKILL') return;
  assert.equal(signal, null);
  if (code === 0) return;
  const output = unwrapped(stdout + stderr);
  assert.equal(code, 1, output);
  // GitLab names the user that holds a lock, not the operation.
  assert.match(output, /is locked by (\S+@machine-\d|ann-of-gitlab)|this run lost the lock|other runs took the lock/);
}
