import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inject } from 'vitest';
import { CACHES } from '../cli/voxform-process.ts';

/** A repository on its host, the clone of a person, and a machine with `voxform` on the path but without Node. */
export class Repository implements Disposable {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'voxform-ci-'));
  readonly origin = path.join(this.folder, 'acme', 'voices.git');
  readonly clone = path.join(this.folder, 'clone');
  readonly bin = path.join(this.folder, 'bin');

  constructor(files: Readonly<Record<string, string>>) {
    mkdirSync(this.bin);
    this.#program('voxform', executable());
    for (const name of ['node', 'npm', 'npx']) this.#program(name, '#!/bin/sh\necho "no Node here" >&2; exit 127\n');
    this.git(['init', '-q', '--bare', '-b', 'main', this.origin], this.folder);
    appendFileSync(path.join(this.origin, 'config'), '[receive]\n\tautogc = false\n');
    this.git(['clone', '-q', this.origin, this.clone], this.folder);
    this.git(['checkout', '-q', '-b', 'main']);
    this.commit(files);
    this.git(['push', '-q', 'origin', 'main']);
  }

  get env(): Readonly<Record<string, string>> {
    return this.envOf(this.folder);
  }

  /**
   * Returns the environment of a separate machine, without the settings of this one.
   * @param home the folder of all its files.
   */
  envOf(home: string): Readonly<Record<string, string>> {
    return {
      PATH: [this.bin, process.env.PATH ?? ''].join(path.delimiter),
      HOME: home,
      XDG_CACHE_HOME: path.join(home, '.cache'),
      NODE_COMPILE_CACHE: path.join(CACHES, 'voxform', 'compiled'),
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_SYSTEM: '/dev/null',
      GIT_TERMINAL_PROMPT: '0',
    };
  }

  git(args: readonly string[], cwd = this.clone): string {
    const identity = ['-c', 'user.name=dev', '-c', 'user.email=dev@example.com', '-c', 'advice.detachedHead=false'];
    return execFileSync('git', [...identity, ...args], {
      cwd,
      env: this.env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  }

  /** Commits files in the clone and returns the commit. */
  commit(files: Readonly<Record<string, string>>): string {
    for (const [name, text] of Object.entries(files)) {
      const file = path.join(this.clone, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    this.git(['add', '--all']);
    this.git(['commit', '-q', '-m', 'An edit']);
    return this.git(['rev-parse', 'HEAD']);
  }

  /** Creates a shallow clone of a commit or branch, with additional settings. */
  checkOut(ref: string, folder: string, settings: string): void {
    this.git(['init', '-q'], folder);
    appendFileSync(path.join(folder, '.git', 'config'), settings);
    this.git(['fetch', '-q', '--depth=1', `file://${this.origin}`, ref], folder);
    this.git(['checkout', '-q', '--detach', 'FETCH_HEAD'], folder);
  }

  /** Checks out a branch, and creates it from the newest main if it does not exist. */
  branch(name: string): void {
    this.git(['fetch', '-q', 'origin']);
    if (this.git(['branch', '--list', name]) !== '') this.git(['checkout', '-q', name]);
    else this.git(['checkout', '-q', '-b', name, 'origin/main']);
  }

  /** Pushes the branch, merged into main, to a ref, as a host does to test a request. Returns the commit. */
  mergeInto(ref: string, branch: string): string {
    this.git(['fetch', '-q', 'origin']);
    this.git(['checkout', '-q', '--detach', 'origin/main']);
    this.git(['merge', '-q', '--no-ff', '-m', 'merge', branch]);
    const commit = this.git(['rev-parse', 'HEAD']);
    this.git(['push', '-q', '--force', 'origin', `HEAD:${ref}`]);
    return commit;
  }

  /** Runs the command in the clone. */
  voxform(...args: string[]): string {
    const { clone: cwd, env } = this;
    return execFileSync(path.join(this.bin, 'voxform'), args, { cwd, env, encoding: 'utf8', stdio: 'pipe' });
  }

  /** Puts an npm on the path that records the contents of installed packages. Returns a function that reads them. */
  recordNpm(): () => string[] {
    const record = path.join(this.folder, 'installed');
    this.#program(
      'npm',
      `#!/bin/sh\n[ "$1" = install ] || exit 0\nfor package; do :; done\ncat "$package" >> '${record}'\n`,
    );
    return () => (existsSync(record) ? [readFileSync(record, 'utf8')] : []);
  }

  /** Returns the id of the process that holds the lock of a state. */
  holderOf(workspace: string): number {
    return this.#stored<{ readonly pid: number }>(workspace, 'lock.json').pid;
  }

  /** Returns the addresses in the state of a workspace on the host. */
  inState(workspace: string): string[] {
    return Object.keys(this.#stored<{ readonly resources: object }>(workspace, 'state.json').resources);
  }

  #program(name: string, script: string): void {
    writeFileSync(path.join(this.bin, name), script, { mode: 0o755 });
  }

  #stored<T>(workspace: string, file: string): T {
    return JSON.parse(this.git(['show', `refs/voxform/${workspace}:${file}`], this.origin)) as T;
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Returns a script that runs the command, in place of the one-file executable. */
export function executable(): string {
  return `#!/bin/sh\nexec "${process.execPath}" "${path.join(inject('built'), 'main.js')}" "$@"\n`;
}

export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
