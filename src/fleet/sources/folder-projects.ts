import { createHash } from 'node:crypto';
import {
  type BigIntStats,
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
} from 'node:fs';
import { symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause, setImmediate as yieldToOthers } from 'node:timers/promises';
import { makeFolders } from '../../files/files.ts';
import { readTextFile, reasonOf } from '../../manifests/read-file.ts';
import { compareText } from '../../problems/compare-text.ts';
import { errorCode } from '../../problems/error-code.ts';
import { UserError } from '../../problems/user-error.ts';
import { PROJECT_FILES } from '../../project/find-project.ts';
import { ProjectSize } from '../../project/project-size.ts';
import type { FoundProject, FoundProjects, ProjectVersion } from '../member.ts';
import { Checkouts } from './checkouts.ts';
import { fileProblem, findProjects, type ListedEntry, TOO_LARGE } from './find-projects.ts';
import type { Checkout, SourceReader } from './source-reader.ts';

interface Folder {
  readonly stats: BigIntStats;
  /** The entries, sorted by name; undefined if there are too many. */
  readonly entries: readonly Dirent[] | undefined;
}

/** Milliseconds after a change within which a folder may change again without a new modification time. */
const TIME_RESOLUTION_MS = 1000;

/** The maximum number of entries of one folder. */
const MAX_ENTRIES = 100_000;

/** Caches the entries of folders. Reads a folder again only after a change. */
class FolderEntries {
  #previous = new Map<string, Folder>();
  #current = new Map<string, Folder>();

  /** Starts a search. Drops the folders that the previous search did not read. */
  begin(): void {
    this.#previous = this.#current;
    this.#current = new Map();
  }

  /** @param dir the absolute path of a folder, which must not be a symbolic link. */
  read(dir: string): Folder {
    const stats = lstatSync(dir, { bigint: true });
    if (!stats.isDirectory()) throw new ChangedFile(dir);
    const cached = this.#current.get(dir) ?? this.#previous.get(dir);
    const isSame = cached?.stats.mtimeNs === stats.mtimeNs && cached.stats.ctimeNs === stats.ctimeNs;
    const isSettled = Date.now() - Number(stats.ctimeMs) > TIME_RESOLUTION_MS;
    const folder =
      cached !== undefined && isSame && cached.stats.ino === stats.ino ? cached : { stats, entries: entriesIn(dir) };
    if (isSettled) this.#current.set(dir, folder);
    return folder;
  }
}

function entriesIn(dir: string): readonly Dirent[] | undefined {
  const folder = opendirSync(dir);
  try {
    const entries: Dirent[] = [];
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
      if (entries.length === MAX_ENTRIES) return undefined;
      entries.push(entry);
    }
    return entries.sort(byName);
  } finally {
    folder.closeSync();
  }
}

function byName(a: Dirent, b: Dirent): number {
  return a.name < b.name ? -1 : 1;
}

interface FolderProjectsOptions {
  /** The absolute path of the folder. It may be a symbolic link whose target changes. */
  readonly folder: string;
  readonly projects: readonly string[];
  /** The absolute path of the folder for the copies of versions. */
  readonly home: string;
}

/** Milliseconds without a change before a project is read, so that its files are complete. */
const SETTLE_TIME_MS = 1000;
/** Milliseconds after which a project that keeps changing is read anyway. */
const MAX_WAIT_MS = 4000;

/** The version of a project that was never read. */
const UNKNOWN_VERSION = 'unknown';

/** The number of projects to read before yielding to other work, such as heartbeats. */
const BATCH_SIZE = 100;

/** Names that are not part of a project: the files of other tools, and `.env`, which contains secrets. */
const IGNORED_NAMES = new Set(['.git', '.voxform', 'node_modules', '.env']);

interface ProjectFile {
  /** The path relative to the project, with slashes. */
  readonly name: string;
  /** The target, if the file is a symbolic link. */
  readonly target: string | undefined;
  /** A string that changes with every write of the file. */
  readonly stamp: string;
  readonly size: number;
}

interface Scan {
  readonly files: readonly ProjectFile[];
  /** The stamps of the folders, by path. */
  readonly folders: ReadonlyMap<string, string>;
  readonly signature: string;
  /** The limit that the project exceeds, if any. In that case, `files` is incomplete. */
  readonly problem: string | undefined;
  /** The time at which a file or folder of the project last changed, in milliseconds. */
  readonly changedAtMs: number;
}

/** A file or folder changed, or another entry replaced it, while its project was read. */
class ChangedFile extends UserError {
  constructor(file: string) {
    super(`${file} changed while it was read`);
  }
}

/** The projects in a folder that other programs change. Each version is a copy, so that runs read no half-written file. */
export class FolderProjects implements SourceReader {
  readonly shown: string;
  readonly #options: FolderProjectsOptions;
  readonly #checkouts: Checkouts;
  readonly #entries = new FolderEntries();
  /** The results of the previous search, by project. */
  #known = new Map<string, FoundProject & { readonly signature: string }>();

  constructor(options: FolderProjectsOptions) {
    this.#options = options;
    this.shown = options.folder;
    this.#checkouts = new Checkouts(path.join(options.home, 'trees'));
  }

  async newest(signal: AbortSignal): Promise<FoundProjects> {
    const until = Date.now() + MAX_WAIT_MS;
    const root = this.#root();
    const known = new Map<string, FoundProject & { readonly signature: string }>();
    this.#entries.begin();
    const { found, unknown } = await this.#projectsIn(root);
    for (const { project, files } of found) {
      signal.throwIfAborted();
      if (known.size % BATCH_SIZE === 0) await yieldToOthers();
      const read = await this.#read(path.join(root, project), { project, until, signal });
      if (read === undefined) continue;
      const problem = fileProblem(files) ?? read.problem;
      known.set(project, { project, file: files[0].name, commit: undefined, ...read, problem });
    }
    this.#known = known;
    const [file = ''] = PROJECT_FILES;
    const unsearched = unknown.map(({ folder: project }) => {
      return { project, version: UNKNOWN_VERSION, commit: undefined, file, problem: TOO_LARGE, isUnknown: true };
    });
    return {
      commit: undefined,
      projects: [...[...known.values()].map(({ signature: _, ...project }) => project), ...unsearched],
      text: async ({ project, file: name }) => {
        const read = readTextFile(path.join(root, project, name));
        return 'text' in read ? read.text : '';
      },
      close: async () => undefined,
    };
  }

  async checkout(project: string, wanted: ProjectVersion): Promise<Checkout> {
    const existing = await this.#checkouts.find(wanted.version);
    if (existing !== undefined) return { ...wanted, folder: existing };
    const until = Date.now() + MAX_WAIT_MS;
    for (;;) {
      try {
        return await this.#checkouts.create((folder) => this.#copy(project, folder));
      } catch (error) {
        if (!(error instanceof ChangedFile) || Date.now() >= until) throw error;
      }
      await pause(SETTLE_TIME_MS / 4);
    }
  }

  /** Copies a project into a folder. @throws ChangedFile if the project changes meanwhile. */
  async #copy(project: string, folder: string) {
    const from = path.join(this.#root(), project);
    let scan: Scan;
    try {
      scan = scanOf(from, new FolderEntries());
    } catch (error) {
      if (error instanceof ChangedFile) throw error;
      throw new UserError(`${this.shown} no longer has the folder ${project}: ${reasonOf(error)}`);
    }
    if (scan.problem !== undefined) throw new UserError(`${project} of ${this.shown} cannot be used: ${scan.problem}`);
    const version = await versionOf(scan, from, async ({ name, target }, content) => {
      const to = path.join(folder, name);
      await makeFolders(path.dirname(to), { mode: 0o700 });
      if (target !== undefined) await symlink(target, to);
      else await writeFile(to, content, { mode: 0o600 });
    });
    return { version, commit: undefined };
  }

  keep(versions: ReadonlySet<string>): Promise<void> {
    return this.#checkouts.keep(versions);
  }

  #root(): string {
    try {
      return realpathSync(this.#options.folder);
    } catch (error) {
      throw new UserError(`cannot open the folder ${this.shown}: ${reasonOf(error)}`);
    }
  }

  async #projectsIn(root: string) {
    const list = async (folder: string): Promise<readonly ListedEntry[] | undefined> =>
      this.#entries.read(path.join(root, folder)).entries?.map((entry) => ({ name: entry.name, kind: kindOf(entry) }));
    const { projects: patterns } = this.#options;
    try {
      return await findProjects({ patterns, root: { name: '', kind: 'folder' }, shown: this.shown, list });
    } catch (error) {
      if (error instanceof UserError) throw error;
      throw new UserError(`cannot read the folder ${this.shown}: ${reasonOf(error)}`);
    }
  }

  /**
   * Waits until the project stops changing, and returns its version; undefined if the project was removed in the meantime. A project that
   * cannot be read keeps its last version, and has a problem.
   */
  async #read(
    folder: string,
    { project, until, signal }: { readonly project: string; readonly until: number; readonly signal: AbortSignal },
  ): Promise<{ version: string; problem: string | undefined; signature: string } | undefined> {
    for (;;) {
      try {
        const scan = scanOf(folder, this.#entries);
        const known = this.#known.get(project);
        if (known?.signature === scan.signature) return { ...known, problem: scan.problem };
        const isSettled = Date.now() - scan.changedAtMs >= SETTLE_TIME_MS;
        if (isSettled || Date.now() >= until) {
          const { problem, signature } = scan;
          return { version: await versionOf(scan, folder), problem, signature };
        }
      } catch (error) {
        const isRemoved = ['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '');
        const isChanged = error instanceof ChangedFile && Date.now() < until;
        if (!isRemoved && !isChanged) {
          const version = this.#known.get(project)?.version ?? UNKNOWN_VERSION;
          return { version, problem: `the project cannot be read: ${reasonOf(error)}`, signature: '' };
        }
        // A file may have been removed while the project was being read.
        if (Date.now() >= until) return undefined;
      }
      await pause(SETTLE_TIME_MS / 4, undefined, { signal });
    }
  }
}

/** Lists the files of a project without reading their contents. Stops at the limits for projects. */
function scanOf(folder: string, entriesOf: FolderEntries): Scan {
  const files: ProjectFile[] = [];
  const size = new ProjectSize();
  let changedAtMs = 0;
  const folders = new Map<string, string>();
  const stampedAt = (stats: BigIntStats): string => {
    changedAtMs = Math.max(changedAtMs, Number(stats.ctimeMs));
    return stampOf(stats);
  };
  const pending = [''];
  for (let inside = pending.pop(); inside !== undefined; inside = pending.pop()) {
    const dir = path.join(folder, inside);
    const { stats, entries } = entriesOf.read(dir);
    folders.set(dir, stampedAt(stats));
    if (entries === undefined) size.failWithTooManyEntries();
    for (const entry of entries ?? []) {
      if (IGNORED_NAMES.has(entry.name)) continue;
      const name = inside === '' ? entry.name : `${inside}/${entry.name}`;
      size.add(name);
      if (size.problem !== undefined) break;
      if (entry.isDirectory()) pending.push(name);
      else if (entry.isFile() || entry.isSymbolicLink()) {
        const file = path.join(folder, name);
        const target = entry.isSymbolicLink() ? readlinkSync(file) : undefined;
        const status = lstatSync(file, { bigint: true });
        size.addContent(name, Number(status.size));
        files.push({ name, target, stamp: stampedAt(status), size: Number(status.size) });
      }
    }
    if (size.problem !== undefined) break;
  }
  files.sort((a, b) => compareText(a.name, b.name));
  const { problem } = size;
  const signature = createHash('sha256')
    .update(JSON.stringify([problem, files]))
    .digest('hex');
  return { files, folders, signature, problem, changedAtMs };
}

/**
 * Returns a digest of the files that is equal on every machine. If the project is too large, the digest covers only names and sizes.
 * @param onContent called with the content of each file.
 * @throws ChangedFile if the project changed after the scan.
 */
async function versionOf(
  { files, folders, problem }: Scan,
  folder: string,
  onContent?: (file: ProjectFile, content: Buffer) => Promise<void>,
): Promise<string> {
  // A link that took the place of a folder may have led the scan elsewhere.
  for (const [dir, stamp] of folders)
    if (stampOf(lstatSync(dir, { bigint: true })) !== stamp) throw new ChangedFile(dir);
  const digest = createHash('sha256');
  for (const file of files) {
    const { name, target, size } = file;
    if (problem !== undefined) digest.update(JSON.stringify([name, size]));
    else {
      const content = target === undefined ? readListed(folder, file) : Buffer.from(target);
      digest.update(JSON.stringify([name, target === undefined, content.length])).update(content);
      await onContent?.(file, content);
    }
  }
  return digest.digest('hex').slice(0, 40);
}

/** Returns a string that changes when a file or the entries of a folder change. */
function stampOf({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}

/** Reads a file of a project that was listed. @throws ChangedFile if a link, a pipe or another file took its place. */
function readListed(folder: string, { name, stamp }: ProjectFile): Buffer {
  const file = path.join(folder, name);
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    throw ['ELOOP', 'ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '') ? new ChangedFile(file) : error;
  }
  try {
    if (stampOf(fstatSync(descriptor, { bigint: true })) !== stamp) throw new ChangedFile(file);
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function kindOf(entry: Dirent): ListedEntry['kind'] {
  if (entry.isDirectory()) return 'folder';
  if (entry.isSymbolicLink()) return 'link';
  return entry.isFile() ? 'file' : 'other';
}
