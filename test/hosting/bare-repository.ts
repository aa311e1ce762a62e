import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { GitObjects, replaceFile, type Tree } from './git-objects.ts';

/** The contents of files in a commit. null removes a file. */
export type Files = Readonly<Record<string, string | null>>;

export interface Commit {
  readonly id: string;
  readonly message: string;
}

/** A bare repository with changes by its host and by people who push to it. */
export class BareRepository implements Disposable {
  /** The folder of all repositories of the host. */
  readonly root: string;
  readonly folder: string;
  readonly #objects: GitObjects;

  /** @param at the folder of an existing repository, below that of its host. */
  constructor(name: string, files: Files, at?: string) {
    this.root = at ?? mkdtempSync(path.join(tmpdir(), 'voxform-host-'));
    this.folder = path.join(this.root, `${name}.git`);
    this.#objects = new GitObjects(this.folder);
    if (at !== undefined) return;
    beginRepository(
      this.folder,
      '[core]\n\tbare = true\n[http]\n\treceivepack = true\n[uploadpack]\n\tallowFilter = true\n\tallowAnySHA1InWant = true\n',
    );
    this.set('main', this.commitOn(undefined, { files, message: 'Begin' }));
  }

  /** Returns the id of `REVISION` or `REVISION:path`; undefined if there is none. */
  find(expression: string): string | undefined {
    const [revision = '', file] = expression.split(/:(.*)/s);
    const commit = /^[0-9a-f]{40}$/.test(revision) ? revision : this.#ref(revision);
    if (file === undefined || commit === undefined) return commit;
    return this.#tree(commit).get(file)?.id;
  }

  head(branch: string): string | undefined {
    return this.#ref(`refs/heads/${branch}`);
  }

  set(branch: string, commit: string | undefined): void {
    const file = path.join(this.folder, 'refs', 'heads', branch);
    mkdirSync(path.dirname(file), { recursive: true });
    if (commit === undefined) rmSync(file, { force: true });
    else replaceFile(file, `${commit}\n`);
  }

  /** Creates a commit on top of another one, without moving a branch. */
  commitOn(
    parent: string | undefined,
    { files, message, merged }: { readonly files: Files; readonly message: string; readonly merged?: string },
  ): string {
    const tree = new Map(parent === undefined ? [] : this.#tree(parent));
    for (const [name, text] of Object.entries(files)) {
      if (text === null) tree.delete(name);
      else tree.set(name, { mode: '100644', id: this.#objects.addBlob(text) });
    }
    const parents = [parent, merged].filter((each) => each !== undefined);
    return this.#objects.addCommit({ tree: this.#objects.addTree(tree), parents, message });
  }

  /** Pushes files to a branch as a person, and creates it from main if it is new. */
  push(branch: string, files: Files, message = 'A person edits'): string {
    const commit = this.commitOn(this.head(branch) ?? this.head('main'), { files, message });
    this.set(branch, commit);
    return commit;
  }

  text(revision: string, file: string): string | undefined {
    const id = this.find(`${revision}:${file}`);
    return id === undefined ? undefined : this.#objects.blob(id).toString();
  }

  /** Returns the commits of one revision that another lacks, oldest first. */
  commits(from: string, to: string): Commit[] {
    const known = new Set(this.#history(from));
    const ids = this.#history(to).filter((id) => !known.has(id));
    return ids.reverse().map((id) => ({ id, message: this.#objects.commit(id).message.trimEnd() }));
  }

  changed(from: string, to: string): string[] {
    const [before, after] = [this.#tree(this.#sure(from)), this.#tree(this.#sure(to))];
    const names = [...new Set([...before.keys(), ...after.keys()])].sort();
    return names.filter((name) => before.get(name)?.id !== after.get(name)?.id);
  }

  mergeBase(a: string, b: string): string {
    const known = new Set(this.#history(a));
    const found = this.#history(b).find((id) => known.has(id));
    if (found === undefined) throw new Error(`${a} and ${b} have nothing in common`);
    return found;
  }

  /** Refuses pushes to a branch. */
  protect(branch: string): void {
    mkdirSync(path.join(this.folder, 'hooks'));
    const hook = `#!/bin/sh\n[ "$1" != "refs/heads/${branch}" ] || { echo "Protected branch update failed" >&2; exit 1; }\n`;
    writeFileSync(path.join(this.folder, 'hooks', 'update'), hook, { mode: 0o755 });
  }

  /** All branches except main. */
  get branches(): string[] {
    const heads = path.join(this.folder, 'refs', 'heads');
    const files = readdirSync(heads, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
    const names = files.map(({ parentPath, name }) => path.posix.relative(heads, path.join(parentPath, name)));
    return names.filter((name) => name !== 'main').sort();
  }

  /** Creates a person's clone that shares the objects of the host. @param remote its address in the clone. */
  cloneTo(folder: string, remote: string): void {
    const git = path.join(folder, '.git');
    beginRepository(git, `[core]\n\tbare = false\n[remote "origin"]\n\turl = ${remote}\n`);
    mkdirSync(path.join(git, 'objects', 'info'));
    writeFileSync(path.join(git, 'objects', 'info', 'alternates'), `${path.join(this.folder, 'objects')}\n`);
    this.pullInto(folder);
  }

  /** Updates such a clone to main. */
  pullInto(folder: string): void {
    execFileSync('git', ['-C', folder, 'reset', '-q', '--hard', this.#sure('refs/heads/main')]);
  }

  #ref(name: string): string | undefined {
    const full = name.startsWith('refs/') ? name : `refs/heads/${name}`;
    const file = path.join(this.folder, full);
    return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
  }

  #sure(revision: string): string {
    const found = this.find(revision);
    if (found === undefined) throw new Error(`there is no ${revision}`);
    return found;
  }

  #tree(commit: string): Tree {
    return this.#objects.tree(this.#objects.commit(commit).tree);
  }

  /** Returns false for an id that is not a commit of this repository. */
  has(commit: string): boolean {
    return this.#objects.has(commit);
  }

  /** Returns a commit and its ancestors, each before its parents. */
  #history(revision: string): string[] {
    const done = new Set<string>();
    const pending = [this.#sure(revision)];
    for (let id = pending.at(-1); id !== undefined; id = pending.at(-1)) {
      const next = this.#objects.commit(id).parents.find((parent) => !done.has(parent));
      if (next !== undefined) pending.push(next);
      else done.add(pending.pop() ?? '');
    }
    return [...done].reverse();
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** Creates a repository like `git init`, without templates and without a process. */
export function beginRepository(folder: string, config: string): void {
  for (const each of ['objects', 'refs/heads']) mkdirSync(path.join(folder, each), { recursive: true });
  writeFileSync(path.join(folder, 'HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(path.join(folder, 'config'), `[gc]\n\tauto = 0\n[receive]\n\tautogc = false\n${config}`);
}
