import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { unwrapped } from './expectations.ts';
import { type Bench, Lab, type LabOptions } from './lab.ts';
import type { Ended, Running } from './processes.ts';
import type { Random } from './random.ts';
import { RECIPIENT } from './secrets.ts';
import type { PlaceKind, SharedPlace } from './shared-places.ts';

/** To be given to node's `--import`: see there. */
export const ELSEWHERE = pathToFileURL(path.join(import.meta.dirname, 'elsewhere.ts')).href;
const APPLY = ['apply', '--auto-approve'];

/** Seconds after which every backend takes over the lock of a silent holder, whatever is wrong with its clock. */
const PATIENCE = 900;
/** Seconds by which clocks differ. */
const SKEW = 55;

export interface MachinesOptions extends Pick<LabOptions, 'manifests'> {
  readonly kind: PlaceKind;
  readonly random: Random;
  readonly count: number;
}

/** Machines with a folder, a home, a host name and a clock of their own, whose runs share a state. */
export class Machines implements AsyncDisposable {
  readonly lab: Lab;
  readonly place: SharedPlace;
  /** True if the state is encrypted. */
  readonly isSealed: boolean;
  readonly names: readonly string[];
  readonly #skews: ReadonlyMap<string, number>;
  readonly #running = new Map<string, Running>();
  /** Seconds that have passed without anybody waiting, for all machines. */
  #passed = 0;
  readonly #clock: string;

  private constructor(
    { lab, place, isSealed }: Pick<Machines, 'lab' | 'place' | 'isSealed'>,
    skews: ReadonlyMap<string, number>,
  ) {
    this.isSealed = isSealed;
    this.lab = lab;
    this.place = place;
    this.names = [...skews.keys()];
    this.#skews = skews;
    this.#clock = path.join(lab.root, 'clock');
    writeFileSync(this.#clock, '0');
  }

  static async open(bench: Bench, { kind, random, count, manifests }: MachinesOptions): Promise<Machines> {
    const place = await kind.start();
    const isSealed = random.chance(0.5);
    const seal = { recipients: [RECIPIENT], identity: { $secret: 'STATE_IDENTITY' } };
    const lab = await Lab.open(bench, {
      seed: random.seed,
      place,
      project: `state: ${JSON.stringify({ ...place.settings, ...(isSealed && { seal }) })}\n`,
      env: { PATH: process.env.PATH ?? '', ...place.env },
      ...(manifests !== undefined && { manifests }),
    });
    place.prepare?.(lab.root);
    const names = Array.from({ length: count }, (_, index) => `machine-${index + 1}`);
    const machines = new Machines(
      { lab, place, isSealed },
      new Map(names.map((name) => [name, random.int(-SKEW, SKEW)])),
    );
    for (const name of names) {
      for (const file of ['voxform.yaml', 'manifests/all.yaml']) {
        lab.write(`${name}/project/${file}`, lab.read(file));
      }
      mkdirSync(path.join(lab.root, name, 'home'));
      place.prepare?.(machines.folderOf(name));
    }
    return machines;
  }

  folderOf(name: string): string {
    return path.join(this.lab.root, name, 'project');
  }

  apply(name: string, ...flags: readonly string[]): Running {
    return this.applyOn({ name, freeze: 0 }, ...flags);
  }

  /** @param freeze the write to the platform before which the process stops itself; 0 for none. */
  applyOn({ name, freeze }: { readonly name: string; readonly freeze: number }, ...flags: readonly string[]): Running {
    const ahead = this.#skews.get(name) ?? 0;
    const run = this.lab.start([...APPLY, ...flags], {
      cwd: this.folderOf(name),
      env: { HOME: path.join(this.lab.root, name, 'home') },
      node: ['--import', `${ELSEWHERE}?host=${name}&ahead=${ahead}&clock=${this.#clock}&freeze=${freeze}`],
    });
    this.#running.set(name, run);
    const gone = (): void => {
      if (this.#running.get(name) === run) this.#running.delete(name);
    };
    run.ended.then(gone, gone);
    return run;
  }

  /** The machine whose run holds the lock. */
  async holder(): Promise<string | undefined> {
    return (await this.place.store.holder())?.host;
  }

  /** Kills the holder of the lock, or somebody else where there is none. Meanwhile nobody gets any further. */
  async killOne(random: Random): Promise<void> {
    const runs = [...this.#running];
    for (const [, { child }] of runs) child.kill('SIGSTOP');
    try {
      const holder = await this.holder();
      const [, victim] = runs.find(([name]) => name === holder) ?? (runs[0] && random.pick(runs)) ?? [];
      victim?.child.kill('SIGKILL');
    } catch (error) {
      this.lab.figures.failed('a look at the lock', error);
    } finally {
      for (const [, { child }] of runs) child.kill('SIGCONT');
    }
  }

  /** Lets so much time pass that a dead holder loses its lock. */
  async passTime(): Promise<void> {
    this.#passed += PATIENCE;
    writeFileSync(this.#clock, String(this.#passed));
    await this.place.pass?.(PATIENCE);
  }

  /** Ends the lock of a run that was killed, as a person does. */
  async unlock(): Promise<void> {
    // A write of that run may still arrive, with its lock.
    for (let holder = await this.place.store.holder(); holder; holder = await this.place.store.holder()) {
      await this.lab.run('state', 'unlock', holder.id);
    }
  }

  /** Whose ids were written to a file because the state could not be reached. */
  get withRescues(): readonly string[] {
    return this.names.filter((name) => {
      const folder = path.join(this.folderOf(name), '.voxform', 'rescue');
      return existsSync(folder) && readdirSync(folder).length > 0;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const run of this.#running.values()) run.child.kill('SIGKILL');
    await Promise.allSettled([...this.#running.values()].map(({ ended }) => ended));
    await this.lab[Symbol.asyncDispose]();
    await this.place[Symbol.asyncDispose]();
  }
}

/** It did what there was to do, or says who was at work. */
export function endedWell({ code, signal, stdout, stderr }: Ended): void {
  if (signal === 'SIGKILL') return;
  assert.equal(signal, null);
  if (code === 0) return;
  const said = unwrapped(stdout + stderr);
  assert.equal(code, 1, said);
  // GitLab says which of its users asked for a lock, and not for what.
  assert.match(said, /is locked by (\S+@machine-\d|ann-of-gitlab)|this run lost the lock|other runs took the lock/);
}
