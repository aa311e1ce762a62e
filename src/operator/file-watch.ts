import { type FSWatcher, lstatSync, readlinkSync, statSync, watch as watchFolder } from 'node:fs';
import path from 'node:path';
import { watch as chokidar, type FSWatcher as TreeWatcher } from 'chokidar';
import { isFolder } from '../files/input-files.ts';
import { isManifestName } from '../manifests/find-files.ts';
import { attempt } from '../problems/attempt.ts';
import { compareText } from '../problems/compare-text.ts';
import type { InputFiles } from './last-load.ts';
import type { FileWatch } from './workspace-watch.ts';

interface FileWatchOptions {
  /** The configured path of the project folder, which may contain symbolic links. */
  readonly folder: string;
  changed(): void;
  /** Called if the system cannot watch all files. */
  onError(error: unknown): void;
}

interface Targets {
  readonly trees: readonly string[];
  /** The names of the watched entries of each folder; undefined if all entries are watched. */
  readonly folders: ReadonlyMap<string, ReadonlySet<string> | undefined>;
}

/**
 * Watches files with chokidar, which watches only folders that existed when it started. It is therefore restarted when a folder or a link
 * is added or removed, for example when Kubernetes updates a volume or a branch is checked out.
 */
export class WatchedFiles implements FileWatch {
  readonly #options: FileWatchOptions;
  #tree: TreeWatcher | undefined;
  #folders: readonly FSWatcher[] = [];
  #key = '';
  #isStale = false;

  constructor(options: FileWatchOptions) {
    this.#options = options;
  }

  async watch(inputs: InputFiles): Promise<boolean> {
    const targets = targetsOf(this.#options.folder, inputs);
    const key = JSON.stringify([
      targets.trees,
      [...targets.folders].map(([name, names]) => [name, ...(names ?? ['*'])]),
    ]);
    if (key === this.#key && !this.#isStale) return false;
    this.#key = key;
    this.#isStale = false;
    // Close first: chokidar shares data by path, even if the path now belongs to another folder.
    await this.close();
    this.#folders = [...targets.folders].flatMap(([folder, names]) => this.#watchFolder(folder, names));
    // Without targets, chokidar never becomes ready.
    if (targets.trees.length > 0) {
      const tree = this.#watchTrees(targets.trees);
      this.#tree = tree;
      await new Promise<void>((resolve) => tree.once('ready', resolve));
    }
    return true;
  }

  async close(): Promise<void> {
    for (const watcher of this.#folders) watcher.close();
    this.#folders = [];
    const tree = this.#tree;
    this.#tree = undefined;
    await tree?.close();
  }

  #watchTrees(trees: readonly string[]): TreeWatcher {
    const watcher = chokidar([...trees], {
      ignoreInitial: true,
      ignored: (file, stats) => {
        const tree = trees.find((each) => file === each || file.startsWith(each + path.sep));
        const relative = tree === undefined ? '' : path.relative(tree, file);
        if (relative.split(path.sep).some(isSkipped)) return true;
        return stats?.isFile() === true && tree !== file && !isManifestName(file);
      },
    });
    watcher.on('all', (event) => this.#reportChange(event === 'addDir' || event === 'unlinkDir'));
    // Also use the raw events of the operating system. chokidar compares events with its own data, so it does not report a folder that is
    // replaced by another one with the same name, or one of two simultaneous changes.
    watcher.on('raw', (event, name, details) => {
      const { watchedPath: folder } = details as { readonly watchedPath?: string };
      if (folder === undefined || typeof name !== 'string') return;
      if (isManifestName(name)) return this.#reportChange(false);
      const isSwapped = event === 'rename' && !isSkipped(name) && isFolder(path.join(folder, name));
      if (isSwapped) this.#reportChange(true);
    });
    watcher.on('error', this.#options.onError);
    return watcher;
  }

  #watchFolder(folder: string, names: ReadonlySet<string> | undefined): FSWatcher[] {
    try {
      const watcher = watchFolder(folder, (event, name) => {
        if (name === null || !(names?.has(name) ?? true)) return;
        const entry = path.join(folder, name);
        this.#reportChange(event === 'rename' && (isFolder(entry) || isLink(entry)));
      });
      watcher.on('error', this.#options.onError);
      return [watcher];
    } catch (error) {
      this.#options.onError(error);
      return [];
    }
  }

  #reportChange(isStale: boolean): void {
    this.#isStale ||= isStale;
    this.#options.changed();
  }
}

function targetsOf(folder: string, { folders: trees, files, secretFolders }: InputFiles): Targets {
  const folders = new Map<string, Set<string> | undefined>();
  const visited = new Set<string>();
  const add = (file: string): void => {
    const parent = path.dirname(file);
    if (parent === file || visited.has(file)) return;
    visited.add(file);
    if (!folders.has(parent)) folders.set(parent, new Set());
    folders.get(parent)?.add(path.basename(file));
    // The target of each link in the path may change, and missing parts of the path may be created.
    for (let current = file; path.dirname(current) !== current; current = path.dirname(current)) {
      if (isLink(current)) add(path.join(targetOf(current), path.relative(current, file)));
      if (isLink(current) || !exists(current)) add(current);
    }
  };
  for (const file of [folder, ...trees, ...files]) add(file);
  for (const each of secretFolders) {
    add(each);
    folders.set(each, undefined);
  }
  const present = [...folders].filter(([name]) => exists(name)).sort(([a], [b]) => compareText(a, b));
  return { trees: trees.filter(exists).toSorted(), folders: new Map(present) };
}

/** True if a folder is not searched for manifests. Two leading dots are allowed: Kubernetes stores the data of a volume in `..data`. */
function isSkipped(name: string): boolean {
  return name === 'node_modules' || /^\.(?!\.)/.test(name);
}

function exists(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false }) !== undefined;
}

function isLink(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

function targetOf(link: string): string {
  return attempt(() => path.resolve(path.dirname(link), readlinkSync(link))) ?? link;
}
