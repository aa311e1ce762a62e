import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { git as gitBackend } from '../../../../src/state/backends/git/git-backend.ts';
import { createStore } from '../../../../src/state/state-location.ts';
import type { StateStore } from '../../../../src/state/store.ts';
import type { Secret } from '../../../../src/values/value.ts';
import { newClone, newRepository } from './git-server.ts';

interface Settings {
  readonly remote?: string | Secret;
  readonly ref?: string;
}

export interface MachineOptions {
  readonly settings?: Settings;
  /** The address of the remote `origin`. */
  readonly origin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The number of seconds that its clock is ahead. */
  readonly ahead?: number;
  readonly source?: string;
  /** Called with messages for `--verbose`. */
  readonly debug?: (message: string) => void;
}

/** Creates a folder that is removed after the test. */
export function scratch(): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'voxform-git-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** A separate machine: a project in a repository, a home and a cache. */
export class Machine {
  readonly folder = scratch();
  readonly root = path.join(this.folder, 'project');
  readonly home = path.join(this.folder, 'home');
  readonly cache = path.join(this.folder, 'cache');
  readonly #options: MachineOptions;

  constructor(options: MachineOptions = {}) {
    this.#options = options;
    mkdirSync(this.home);
    if (options.origin === undefined) newRepository(this.root, path.join(this.folder, 'unused.git'));
    else newClone(this.root, options.origin);
  }

  /** Returns a new store each time, as each run has one. */
  store(settings: Settings = this.#options.settings ?? {}): StateStore {
    const { env, ahead = 0, source, debug } = this.#options;
    return createStore(
      { backend: 'git', ...gitBackend.locate(settings, { workspace: 'test', root: this.root, source }) },
      {
        root: this.root,
        host: 'here',
        user: 'ann',
        pid: 7,
        version: '0.0.0',
        now: () => new Date(Date.now() + ahead * 1000),
        env: { PATH: process.env.PATH, HOME: this.home, GIT_CONFIG_NOSYSTEM: '1', ...env },
        cacheFolder: this.cache,
        debug,
      },
    );
  }
}
