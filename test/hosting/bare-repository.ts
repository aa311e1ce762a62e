import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** What of each file is to be in a commit; null takes it away. */
export type Files = Readonly<Record<string, string | null>>;

export interface Commit {
  readonly id: string;
  readonly message: string;
}

/** A bare repository, changed as its host changes it, and as people do who push to it. */
export class BareRepository implements Disposable {
  /** Of all repositories of the host. */
  readonly root: string;
  readonly folder: string;

  /** @param at the folder of one that is there already, below that of its host. */
  constructor(name: string, files: Files, at?: string) {
    this.root = at ?? mkdtempSync(path.join(tmpdir(), 'voxform-host-'));
    this.folder = path.join(this.root, `${name}.git`);
    if (at !== undefined) return;
    mkdirSync(this.folder, { recursive: true });
    execFileSync('git', ['init', '-q', '--bare', '-b', 'main', this.folder]);
    this.git(['config', 'http.receivepack', 'true']);
    this.set('main', this.commitOn(undefined, { files, message: 'Begin' }));
  }

  git(args: readonly string[], options: { readonly input?: string; readonly index?: string } = {}): string {
    const env = {
      ...process.env,
      ...(options.index !== undefined && { GIT_INDEX_FILE: options.index }),
      GIT_AUTHOR_NAME: 'ann',
      GIT_AUTHOR_EMAIL: 'ann@example.com',
      GIT_COMMITTER_NAME: 'ann',
      GIT_COMMITTER_EMAIL: 'ann@example.com',
    };
    const { input = '' } = options;
    const args2 = ['--git-dir', this.folder, ...args];
    return execFileSync('git', args2, {
      input,
      env,
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'pipe'],
    }).replace(/\n$/, '');
  }

  /** The commit of a branch or an expression; undefined where there is none. */
  find(name: string): string | undefined {
    try {
      return this.git(['rev-parse', '--verify', '--quiet', name]);
    } catch {
      return undefined;
    }
  }

  head(branch: string): string | undefined {
    return this.find(`refs/heads/${branch}`);
  }

  set(branch: string, commit: string | undefined): void {
    this.git(
      commit === undefined
        ? ['update-ref', '-d', `refs/heads/${branch}`]
        : ['update-ref', `refs/heads/${branch}`, commit],
    );
  }

  /** A new commit on another one; no branch has it yet. */
  commitOn(
    parent: string | undefined,
    { files, message }: { readonly files: Files; readonly message: string },
  ): string {
    const index = path.join(this.root, `index-${process.hrtime.bigint()}`);
    if (parent !== undefined) this.git(['read-tree', parent], { index });
    for (const [name, text] of Object.entries(files)) {
      if (text === null) this.git(['update-index', '--force-remove', name], { index });
      else {
        const blob = this.git(['hash-object', '-w', '--stdin'], { input: text });
        this.git(['update-index', '--add', '--cacheinfo', `100644,${blob},${name}`], { index });
      }
    }
    const tree = this.git(['write-tree'], { index });
    rmSync(index, { force: true });
    return this.git(['commit-tree', tree, ...(parent === undefined ? [] : ['-p', parent])], {
      input: message,
    });
  }

  /** What a person pushes to a branch, made from main where it is new. */
  push(branch: string, files: Files, message = 'A person edits'): string {
    const commit = this.commitOn(this.head(branch) ?? this.head('main'), { files, message });
    this.set(branch, commit);
    return commit;
  }

  text(revision: string, file: string): string | undefined {
    try {
      return execFileSync('git', ['--git-dir', this.folder, 'cat-file', 'blob', `${revision}:${file}`], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
    } catch {
      return undefined;
    }
  }

  /** Those of one that another has not, the oldest first. */
  commits(from: string, to: string): Commit[] {
    const ids = this.git(['rev-list', '--reverse', `${from}..${to}`])
      .split('\n')
      .filter((id) => id !== '');
    return ids.map((id) => ({ id, message: this.git(['log', '-1', '--format=%B', id]).trimEnd() }));
  }

  changed(from: string, to: string): string[] {
    return this.git(['diff', '--name-only', '--no-renames', from, to])
      .split('\n')
      .filter((name) => name !== '');
  }

  mergeBase(a: string, b: string): string {
    return this.git(['merge-base', a, b]);
  }

  /** Branches besides main. */
  get branches(): string[] {
    const all = this.git(['for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads']).split('\n');
    return all.filter((name) => name !== 'main' && name !== '');
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
