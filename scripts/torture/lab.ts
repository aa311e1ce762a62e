import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { RequestHook } from '../../src/emulator/request-pipeline.ts';
import { type Emulator, type EmulatorOptions, startEmulator } from '../../src/emulator/start-emulator.ts';
import { LocalStore } from '../../src/state/backends/local/local-store.ts';
import { createStateStore } from '../../src/state/backends/object-store/state-store.ts';
import { Seal } from '../../src/state/seal.ts';
import { readState } from '../../src/state/session.ts';
import type { State } from '../../src/state/state.ts';
import type { StateStore } from '../../src/state/store.ts';
import { Secret } from '../../src/values/value.ts';
import { census } from './census.ts';
import type { Figures } from './figures.ts';
import { projectFile } from './manifests.ts';
import { type Ended, type Running, startProcess } from './processes.ts';
import { RECIPIENT, SECRETS, STORED_AS_SENT, secretsIn } from './secrets.ts';

/** What every part of a campaign works with. */
export interface Bench {
  /** Folder of the built command. */
  readonly built: string;
  readonly figures: Figures;
  /** Runs what nothing happens to in another way than as a process of its own. */
  readonly calmly?: (args: readonly string[], surroundings: Surroundings) => Promise<Ended>;
}

interface Surroundings {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface LabOptions extends Pick<EmulatorOptions, 'behaviour' | 'apiKey'> {
  readonly seed?: string;
  readonly manifests?: string;
  /** Text after the project file's only workspace. */
  readonly project?: string;
  /** Where the state is; in the file of the default where absent. */
  readonly place?: { readonly store: StateStore; contents(): Promise<string> };
  /** Of each run, besides the secrets. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Before the arguments of node. */
  readonly wrapper?: readonly string[];
  /** Before the script: options of node. */
  readonly node?: readonly string[];
  readonly extraPipes?: number;
  /** Absolute path; the lab's root where absent. */
  readonly cwd?: string;
}

/** Who looks at a state. */
export const CAMPAIGN = {
  host: 'campaign',
  user: 'campaign',
  pid: process.pid,
  version: '0.0.0',
  now: () => new Date(),
  // Reads sealed states too.
  seal: new Seal(
    {
      recipients: [RECIPIENT],
      identity: new Secret('STATE_IDENTITY', SECRETS.STATE_IDENTITY),
    },
    'plain',
  ),
};

/** The platform's memory. */
const DATA_FILE = 'data.json';

const VICTIM = path.join(import.meta.dirname, 'victim.ts');

/** A platform that keeps the truth in this process, a project for it in a folder, and the built command run there. */
export class Lab implements AsyncDisposable {
  readonly root: string;
  readonly emulator: Emulator;
  readonly figures: Figures;
  readonly statePath: string;
  /** Hears of every request before the platform does anything about it. */
  hook: RequestHook = () => undefined;
  readonly #built: string;
  readonly #calmly: Bench['calmly'];
  /** Where the platform keeps its file. */
  readonly #elsewhere: string;
  readonly #counted = new Set<string>();
  #place: LabOptions['place'];
  #env: Readonly<Record<string, string>> = SECRETS;

  private constructor(
    { built, figures, calmly }: Bench,
    emulator: Emulator,
    folders: { root: string; elsewhere: string },
  ) {
    const { root, elsewhere } = folders;
    this.#built = built;
    this.#calmly = calmly;
    this.#elsewhere = elsewhere;
    this.figures = figures;
    this.emulator = emulator;
    this.root = root;
    this.statePath = path.join(root, '.voxform', 'test.state.json');
  }

  static async open(bench: Bench, options: LabOptions = {}): Promise<Lab> {
    const { seed = 'lab', manifests = '', project, place, env, ...rest } = options;
    const root = mkdtempSync(path.join(tmpdir(), 'voxform-torture-'));
    const elsewhere = mkdtempSync(path.join(tmpdir(), 'voxform-torture-platform-'));
    const emulator = await startEmulator({
      seed,
      ...rest,
      dataFile: path.join(elsewhere, DATA_FILE),
      onRequest: (request) => lab.hook(request),
    });
    const lab: Lab = new Lab(bench, emulator, { root, elsewhere });
    lab.#place = place;
    lab.#env = { ...SECRETS, ...env };
    lab.write('voxform.yaml', projectFile(emulator, project));
    lab.write('manifests/all.yaml', manifests);
    return lab;
  }

  write(name: string, text: string): void {
    const file = path.join(this.root, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  read(name: string): string {
    return readFileSync(path.join(this.root, name), 'utf8');
  }

  /** Runs what is to come to its end by itself. */
  async run(...args: string[]): Promise<Ended> {
    if (this.#calmly === undefined) return this.ended(this.start(args));
    return this.#lookedAt(await this.#calmly(args, { cwd: this.root, env: this.#env }));
  }

  runWith(options: RunOptions, ...args: string[]): Promise<Ended> {
    return this.ended(this.start(args, options));
  }

  /** Runs the command so that it dies at the nth passage of a place that `victim.ts` knows. */
  runAndDie(place: string, nth: number, ...args: string[]): Promise<Ended> {
    const script = [VICTIM, this.#built, this.statePath, place, String(nth), ...args];
    return this.ended(this.#spawn([process.execPath, ...script], {}));
  }

  start(args: readonly string[], options: RunOptions = {}): Running {
    const { wrapper = [], node = [] } = options;
    const main = path.join(this.#built, 'main.js');
    const [file = process.execPath, ...words] = [...wrapper, process.execPath, ...node, main, ...args];
    return this.#spawn([file, ...words], options);
  }

  /** Waits for a process, and looks at what it wrote as every campaign does. */
  async ended(running: Running): Promise<Ended> {
    return this.#lookedAt(await running.ended);
  }

  #lookedAt(ended: Ended): Ended {
    this.figures.add('runs of the command');
    for (const secret of secretsIn(ended.stdout + ended.stderr)) {
      this.figures.wrong('secrets seen', `${secret} in the output`);
    }
    if (/\n\s+at .*:\d+:\d+/.test(ended.stderr + ended.stdout)) {
      throw new Error(`it shows a stack trace:\n${ended.stderr}`);
    }
    return ended;
  }

  #localStore(): StateStore {
    const user = { ...CAMPAIGN, root: '/' };
    return createStateStore(new LocalStore({ ...user, path: this.statePath }), user);
  }

  /** What the state says, its journal worked in. */
  async state(): Promise<State> {
    const store = this.#place?.store ?? this.#localStore();
    const fresh = { lineage: 'none yet', salt: 'none yet' };
    return readState(store, { workspaceId: this.emulator.workspaceId, fresh });
  }

  writes(): number {
    return this.emulator.requests.filter(({ method }) => method !== 'GET').length;
  }

  /** Holds every record of the platform against the state and counts what must not be. */
  async check(when: string): Promise<void> {
    await this.settled();
    const { lost, duplicates } = census(this.emulator.world, await this.state());
    for (const id of lost) this.figures.wrong('lost ids', `${id} ${when}`);
    for (const address of duplicates) this.figures.wrong('silent duplicates', `${address} ${when}`);
    const kept = secretsIn((await this.#place?.contents()) ?? '').map((secret) => `${secret} in the store`);
    for (const secret of [...this.#secretsInFiles(), ...kept]) {
      this.figures.wrong('secrets seen', `${secret} ${when}`);
    }
    if (lost.length + duplicates.length > 0) {
      throw new Error(`lost: ${lost.join(', ')}; doubled: ${duplicates.join(', ')}`);
    }
  }

  /** Resolves when the platform is done with all that a dead process had sent: later requests were answered. */
  async settled(): Promise<void> {
    for (let round = 0; round < 3; round++) {
      await (await fetch(`${this.emulator.url}/__emulator/behaviour`)).arrayBuffer();
    }
  }

  /** The files of the state's folder with their content. */
  stateFiles(): Record<string, string> {
    const folder = path.dirname(this.statePath);
    return Object.fromEntries(
      readdirSync(folder)
        .sort()
        .map((name) => [name, readFileSync(path.join(folder, name), 'latin1')]),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#countRecords();
    await this.emulator.close();
    // By now the platform's file holds all that it was ever sent.
    for (const secret of this.#secretsInFiles()) this.figures.wrong('secrets seen', `${secret} at the end`);
    for (const folder of [this.root, this.#elsewhere]) rmSync(folder, { recursive: true, force: true });
  }

  #spawn(command: readonly [string, ...string[]], { env, extraPipes, cwd = this.root }: RunOptions): Running {
    return startProcess(command, {
      cwd,
      // Starting takes most of a run's time.
      env: {
        ...this.#env,
        NODE_COMPILE_CACHE: path.join(this.#built, '.compile-cache'),
        // What a killed process leaves there goes with this lab, and is searched for secrets.
        TMPDIR: this.#elsewhere,
        ...env,
      },
      ...(extraPipes !== undefined && { extraPipes }),
    });
  }

  #secretsInFiles(): string[] {
    const files = [this.root, this.#elsewhere].flatMap((folder) =>
      readdirSync(folder, { recursive: true, withFileTypes: true }),
    );
    return files
      .filter((file) => file.isFile())
      .flatMap((file) => {
        const isPlatforms = file.parentPath === this.#elsewhere && file.name.includes(DATA_FILE);
        return secretsIn(textIfThere(path.join(file.parentPath, file.name)))
          .filter((secret) => !isPlatforms || !STORED_AS_SENT.has(secret))
          .map((secret) => `${secret} in ${file.name}`);
      });
  }

  #countRecords(): void {
    const { agents, webhooks, numbers } = this.emulator.world;
    for (const id of [agents, webhooks, numbers].flatMap((records) => [...records.keys()])) {
      if (!this.#counted.has(id)) this.figures.add('records created');
      this.#counted.add(id);
    }
  }
}

/** The emulator writes beside its file and renames: what was listed may have another name by now, and is looked at the next time. */
function textIfThere(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}
