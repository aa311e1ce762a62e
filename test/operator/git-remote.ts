import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gitSource } from '../../src/operator/git/git-source.ts';
import type { ManifestSource } from '../../src/operator/source.ts';
import { beginRepository } from '../hosting/bare-repository.ts';

const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.com'];

/** Creates a file that looks as if git, killed ten minutes ago, had left it. */
export function leaveFile(file: string): void {
  writeFileSync(file, '');
  const then = Date.now() / 1000 - 600;
  utimesSync(file, then, then);
}

/** A bare repository, a work tree to commit from, and a folder for the watch. */
export class Remote implements Disposable {
  readonly root = realpathSync(mkdtempSync(path.join(tmpdir(), 'voxform-git-')));
  readonly bare = path.join(this.root, 'remote.git');
  readonly watched = path.join(this.root, 'watched');
  readonly #work = path.join(this.root, 'work');

  constructor() {
    for (const folder of [this.watched, this.#work]) mkdirSync(folder);
    beginRepository(this.bare, '[core]\n\tbare = true\n');
  }

  git(...args: string[]): string {
    const place = ['--git-dir', this.bare, '--work-tree', this.#work];
    return execFileSync('git', [...place, ...identity, ...args], {
      cwd: this.#work,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  }

  push(files: Readonly<Record<string, string>>, ...how: string[]): string {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(this.#work, name)), { recursive: true });
      writeFileSync(path.join(this.#work, name), text);
    }
    this.git('add', '-A');
    this.git('commit', '--quiet', '-m', 'x', ...how);
    return readFileSync(path.join(this.bare, 'refs/heads/main'), 'utf8').trim();
  }

  /** Returns the id of a tree with these entries, in the format of `git ls-tree`. */
  tree(entries: readonly string[]): string {
    return this.#write(['mktree'], entries.map((each) => `${each}\n`).join(''));
  }

  blob(content: string | Uint8Array): string {
    return this.#write(['hash-object', '-w', '--stdin'], content);
  }

  /** Moves main to a commit of this tree, regardless of the work tree. */
  commit(tree: string): string {
    const id = this.git('commit-tree', '-m', 'x', tree);
    this.git('update-ref', 'refs/heads/main', id);
    return id;
  }

  #write(args: readonly string[], input: string | Uint8Array): string {
    return execFileSync('git', ['--git-dir', this.bare, ...args], { input, encoding: 'utf8' }).trim();
  }

  /** Adds symbolic links to the next push. Keys are names, values are targets. */
  link(targets: Readonly<Record<string, string>>): void {
    for (const [name, target] of Object.entries(targets)) symlinkSync(target, path.join(this.#work, name));
  }

  source(url = this.bare, more: { ref?: string; subfolder?: string } = {}): ManifestSource {
    return gitSource({
      url,
      ref: 'main',
      subfolder: '.',
      cwd: this.watched,
      workspace: undefined,
      // Git sets these variables for the processes that a hook starts.
      env: { PATH: process.env.PATH, HOME: this.root, GIT_DIR: '/nowhere', GIT_INDEX_FILE: '/nowhere/index' },
      redact: (text) => text.replaceAll('hunter2', '(secret)'),
      keepSecret: () => undefined,
      ...more,
    });
  }

  /** The repository that the watched source fetches into. */
  get fetched(): string {
    const git = path.join(this.watched, '.voxform/git');
    const [home = ''] = readdirSync(git);
    return path.join(git, home, 'repository');
  }

  checkouts(): string[] {
    const [home = ''] = readdirSync(path.join(this.watched, '.voxform/git'));
    return readdirSync(path.join(this.watched, '.voxform/git', home))
      .filter((name) => /^[0-9a-f]{40}/.test(name))
      .sort();
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
