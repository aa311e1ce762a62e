import assert from 'node:assert/strict';
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
import { type ProcessResult, type RunningProcess, startProcess } from './processes.ts';
import { RECIPIENT, SECRETS, STORED_AS_SENT, secretsIn } from './secrets.ts';

/** The built command and the figures of a campaign. */
export interface Bench {
  /** The folder of the built command. */
  readonly built: string;
  readonly figures: Figures;
  /** Runs a command without faults in this process. Default: in a new process. */
  readonly runInProcess?: (args: readonly string[], environment: RunEnvironment) => Promise<ProcessResult>;
}

interface RunEnvironment {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface LabOptions extends Pick<EmulatorOptions, 'behaviour'> {
  readonly seed?: string;
  readonly manifests?: string;
  /** Lines of the project file after its only workspace. */
  readonly project?: string;
  /** The location of the state. Default: the local file. */
  readonly location?: { readonly store: StateStore; contents(): Promise<string> };
  /** Variables of each run, in addition to the secrets. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** A command that runs Node, such as `bash -c`. */
  readonly wrapper?: readonly string[];
  /** Options of Node. */
  readonly node?: readonly string[];
  readonly extraPipes?: number;
  /** An absolute path. Default: the root of the lab. */
  readonly cwd?: string;
}

/** The identity under which the campaign reads states. */
export const CAMPAIGN = {
  host: 'campaign',
  user: 'campaign',
  pid: process.pid,
  version: '0.0.0',
  now: () => new Date(),
  // To read sealed states.
  seal: new Seal(
    {
      recipients: [RECIPIENT],
      identity: new Secret('STATE_IDENTITY', SECRETS.STATE_IDENTITY),
    },
    'plain',
  ),
};

/** The arguments of an apply without a question. */
export const APPLY = ['apply', '--auto-approve'];

/** The file in which the emulator keeps its records. */
const DATA_FILE = 'data.json';

const VICTIM = path.join(import.meta.dirname, 'victim.ts');

/** An emulator in this process, a project for it in a temporary folder, and runs of the built command in that folder. */
export class Lab implements AsyncDisposable {
  readonly root: string;
  readonly emulator: Emulator;
  readonly figures: Figures;
  readonly statePath: string;
  /** Called with each request before the platform handles it. */
  hook: RequestHook = () => undefined;
  readonly #built: string;
  readonly #runInProcess: Bench['runInProcess'];
  readonly #platformFolder: string;
  readonly #countedIds = new Set<string>();
  #location: LabOptions['location'];
  #env: Readonly<Record<string, string>> = SECRETS;

  private constructor(
    { built, figures, runInProcess }: Bench,
    emulator: Emulator,
    folders: { root: string; platformFolder: string },
  ) {
    const { root, platformFolder } = folders;
    this.#built = built;
    this.#runInProcess = runInProcess;
    this.#platformFolder = platformFolder;
    this.figures = figures;
    this.emulator = emulator;
    this.root = root;
    this.statePath = path.join(root, '.voxform', 'test.state.json');
  }

  /** Opens a lab and applies its manifests. */
  static async applied(bench: Bench, options: LabOptions): Promise<Lab> {
    const lab = await Lab.open(bench, options);
    const { code, stderr } = await lab.run(...APPLY);
    assert.equal(code, 0, stderr);
    return lab;
  }

  static async open(bench: Bench, options: LabOptions = {}): Promise<Lab> {
    const { seed = 'lab', manifests = '', project, location, env, ...rest } = options;
    const root = mkdtempSync(path.join(tmpdir(), 'voxform-torture-'));
    const platformFolder = mkdtempSync(path.join(tmpdir(), 'voxform-torture-platform-'));
    const emulator = await startEmulator({
      seed,
      ...rest,
      dataFile: path.join(platformFolder, DATA_FILE),
      onRequest: (request) => lab.hook(request),
    });
    const lab: Lab = new Lab(bench, emulator, { root, platformFolder });
    lab.#location = location;
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

  /** Runs a command without faults. */
  async run(...args: string[]): Promise<ProcessResult> {
    if (this.#runInProcess === undefined) return this.waitFor(this.start(args));
    return this.#checkOutput(await this.#runInProcess(args, { cwd: this.root, env: this.#env }));
  }

  runWith(options: RunOptions, ...args: string[]): Promise<ProcessResult> {
    return this.waitFor(this.start(args, options));
  }

  /** Runs a command, and kills it when it reaches a kill point of `victim.ts` for the nth time. */
  runAndDie(killPoint: string, nth: number, ...args: string[]): Promise<ProcessResult> {
    const script = [VICTIM, this.#built, this.statePath, killPoint, String(nth), ...args];
    return this.waitFor(this.#spawn([process.execPath, ...script], {}));
  }

  start(args: readonly string[], options: RunOptions = {}): RunningProcess {
    const { wrapper = [], node = [] } = options;
    const main = path.join(this.#built, 'main.js');
    const [file = process.execPath, ...words] = [...wrapper, process.execPath, ...node, main, ...args];
    return this.#spawn([file, ...words], options);
  }

  /** Waits until a process ends, and checks its output for secrets and stack traces. */
  async waitFor(running: RunningProcess): Promise<ProcessResult> {
    return this.#checkOutput(await running.ended);
  }

  #checkOutput(result: ProcessResult): ProcessResult {
    this.figures.add('runs of the command');
    for (const secret of secretsIn(result.stdout + result.stderr)) {
      this.figures.addViolation('secrets seen', `${secret} in the output`);
    }
    if (/\n\s+at .*:\d+:\d+/.test(result.stderr + result.stdout)) {
      throw new Error(`the output has a stack trace:\n${result.stderr}`);
    }
    return result;
  }

  #localStore(): StateStore {
    const user = { ...CAMPAIGN, root: '/' };
    return createStateStore(new LocalStore({ ...user, path: this.statePath }), user);
  }

  /** Reads the state including its journal. */
  async state(): Promise<State> {
    const store = this.#location?.store ?? this.#localStore();
    const fresh = { lineage: 'none yet', salt: 'none yet' };
    return readState(store, { workspaceId: this.emulator.workspaceId, fresh });
  }

  writes(): number {
    return this.emulator.requests.filter(({ method }) => method !== 'GET').length;
  }

  /** Compares the records on the platform with the state, and searches all files for secrets. Throws if a record is lost or duplicated. */
  async check(when: string): Promise<void> {
    await this.waitForPlatform();
    const { lost, duplicates } = census(this.emulator.world, await this.state());
    for (const id of lost) this.figures.addViolation('lost ids', `${id} ${when}`);
    for (const address of duplicates) this.figures.addViolation('silent duplicates', `${address} ${when}`);
    const storedSecrets = secretsIn((await this.#location?.contents()) ?? '').map((secret) => `${secret} in the store`);
    for (const secret of [...this.#secretsInFiles(), ...storedSecrets]) {
      this.figures.addViolation('secrets seen', `${secret} ${when}`);
    }
    if (lost.length + duplicates.length > 0) {
      throw new Error(`lost: ${lost.join(', ')}; duplicates: ${duplicates.join(', ')}`);
    }
  }

  /** Resolves when the platform has handled all requests of a dead process, because it answers later requests. */
  async waitForPlatform(): Promise<void> {
    for (let round = 0; round < 3; round++) {
      await (await fetch(`${this.emulator.url}/__emulator/behaviour`)).arrayBuffer();
    }
  }

  /** The contents of the files in the state folder, by name. */
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
    // After the close, the data file is complete.
    for (const secret of this.#secretsInFiles()) this.figures.addViolation('secrets seen', `${secret} at the end`);
    for (const folder of [this.root, this.#platformFolder]) rmSync(folder, { recursive: true, force: true });
  }

  #spawn(command: readonly [string, ...string[]], { env, extraPipes, cwd = this.root }: RunOptions): RunningProcess {
    return startProcess(command, {
      cwd,
      env: {
        ...this.#env,
        // Start-up takes most of a run's time.
        NODE_COMPILE_CACHE: path.join(this.#built, '.compile-cache'),
        // The lab searches the leftovers of killed processes for secrets and removes them.
        TMPDIR: this.#platformFolder,
        ...env,
      },
      ...(extraPipes !== undefined && { extraPipes }),
    });
  }

  #secretsInFiles(): string[] {
    const files = [this.root, this.#platformFolder].flatMap((folder) =>
      readdirSync(folder, { recursive: true, withFileTypes: true }),
    );
    return files
      .filter((file) => file.isFile())
      .flatMap((file) => {
        const isDataFile = file.parentPath === this.#platformFolder && file.name.includes(DATA_FILE);
        return secretsIn(readIfExists(path.join(file.parentPath, file.name)))
          .filter((secret) => !isDataFile || !STORED_AS_SENT.has(secret))
          .map((secret) => `${secret} in ${file.name}`);
      });
  }

  #countRecords(): void {
    const { agents, webhooks, numbers } = this.emulator.world;
    for (const id of [agents, webhooks, numbers].flatMap((records) => [...records.keys()])) {
      if (!this.#countedIds.has(id)) this.figures.add('records created');
      this.#countedIds.add(id);
    }
  }
}

/** Returns an empty text if the file is missing: the emulator may have renamed its temporary file since the folder was listed. */
function readIfExists(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}
