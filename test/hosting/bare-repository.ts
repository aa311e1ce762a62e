import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { GitObjects, replaceFile, type Tree } from './git-objects.ts';

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
  readonly #objects: GitObjects;

  /** @param at the folder of one that is there already, below that of its host. */
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

  /** The id of `REVISION` or `REVISION:path`; undefined where there is none. */
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

  /** A new commit on another one; no branch has it yet. */
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

  /** What a person pushes to a branch, made from main where it is new. */
  push(branch: string, files: Files, message = 'A person edits'): string {
    const commit = this.commitOn(this.head(branch) ?? this.head('main'), { files, message });
    this.set(branch, commit);
    return commit;
  }

  text(revision: string, file: string): string | undefined {
    const id = this.find(`${revision}:${file}`);
    return id === undefined ? undefined : this.#objects.blob(id).toString();
  }

  /** Those of one that another has not, the oldest first. */
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

  /** Branches besides main. */
  get branches(): string[] {
    const heads = path.join(this.folder, 'refs', 'heads');
    const files = readdirSync(heads, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
    const names = files.map(({ parentPath, name }) => path.posix.relative(heads, path.join(parentPath, name)));
    return names.filter((name) => name !== 'main').sort();
  }

  /** A person's clone, which reads the objects of the host where they are. @param remote its address as the clone has it. */
  cloneTo(folder: string, remote: string): void {
    const git = path.join(folder, '.git');
    beginRepository(git, `[core]\n\tbare = false\n[remote "origin"]\n\turl = ${remote}\n`);
    mkdirSync(path.join(git, 'objects', 'info'));
    writeFileSync(path.join(git, 'objects', 'info', 'alternates'), `${path.join(this.folder, 'objects')}\n`);
    this.pullInto(folder);
  }

  /** Brings main into such a clone. */
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

  /** False for an id that is no commit of this repository. */
  has(commit: string): boolean {
    return this.#objects.has(commit);
  }

  /** A commit and all before it, each before its parents. */
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

/** As `git init` does, without its templates and in no process of its own. */
export function beginRepository(folder: string, config: string): void {
  for (const each of ['objects', 'refs/heads']) mkdirSync(path.join(folder, each), { recursive: true });
  writeFileSync(path.join(folder, 'HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(path.join(folder, 'config'), `[gc]\n\tauto = 0\n[receive]\n\tautogc = false\n${config}`);
}
