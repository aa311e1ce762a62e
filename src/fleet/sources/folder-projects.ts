import { createHash } from 'node:crypto';
import { type BigIntStats, lstatSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { chmod, copyFile, mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as othersFirst, setTimeout as pause } from 'node:timers/promises';
import { reasonOf } from '../../manifests/read-file.ts';
import { UserError } from '../../problems/user-error.ts';
import { PROJECT_FILES } from '../../project/find-project.ts';
import type { ProjectVersion } from '../member.ts';
import { Checkouts } from './checkouts.ts';
import { FolderEntries } from './folder-entries.ts';
import { projectMatcher } from './project-patterns.ts';
import type { CheckedOut, FoundProject, FoundProjects, SourceReader } from './source-reader.ts';

interface FolderProjectsOptions {
  /** Absolute path, which may be a symbolic link that moves on. */
  readonly folder: string;
  readonly projects: readonly string[];
  /** Absolute path of the folder for copies of the versions. */
  readonly home: string;
}

/** Milliseconds for which nobody must have written to a project before it is read, as watch waits for a file to be whole. */
const SETTLED = 1000;
/** Milliseconds after which one that is written to all the time is read as it is. */
const LONGEST_WAIT = 4000;

/** Projects that are looked at before runs, and signs of life, have their turn. */
const AT_ONCE = 100;

/** Not of a project: what tools keep beside it, and what holds secrets for a shell. */
const PASSED_OVER = new Set(['.git', '.voxform', 'node_modules', '.env']);

interface FileOfProject {
  /** Relative to the project, with slashes. */
  readonly name: string;
  /** Of a symbolic link. */
  readonly target: string | undefined;
  /** Differs whenever the file was written. */
  readonly stamp: string;
}

interface Scan {
  readonly files: readonly FileOfProject[];
  readonly signature: string;
  /** When a file or a folder was changed last. */
  readonly changed: number;
}

/** The projects in a folder that someone else keeps up to date. A version is a copy, so that nothing is read half written. */
export class FolderProjects implements SourceReader {
  readonly shown: string;
  readonly #options: FolderProjectsOptions;
  readonly #checkouts: Checkouts;
  readonly #entries = new FolderEntries();
  /** What the last look found, by project. */
  #known = new Map<string, FoundProject & { readonly signature: string }>();

  constructor(options: FolderProjectsOptions) {
    this.#options = options;
    this.shown = options.folder;
    this.#checkouts = new Checkouts(path.join(options.home, 'trees'));
  }

  async newest(signal: AbortSignal): Promise<FoundProjects> {
    const until = Date.now() + LONGEST_WAIT;
    const root = this.#root();
    const found = new Map<string, FoundProject & { readonly signature: string }>();
    this.#entries.begin();
    for (const { project, file, isTwice } of this.#projectsIn(root)) {
      signal.throwIfAborted();
      if (found.size % AT_ONCE === 0) await othersFirst();
      const read = await this.#read(path.join(root, project), { project, until, signal });
      if (read === undefined) continue;
      const problem = isTwice
        ? `it has two project files, ${PROJECT_FILES.join(' and ')}; delete one of them`
        : read.text === undefined
          ? `${file} cannot be read`
          : undefined;
      found.set(project, { project, file, commit: undefined, ...read, text: read.text ?? '', problem });
    }
    this.#known = found;
    return {
      commit: undefined,
      projects: [...found.values()].map(({ signature: _, ...project }) => project),
    };
  }

  async checkout(project: string, wanted: ProjectVersion): Promise<CheckedOut> {
    const there = await this.#checkouts.find(wanted.version);
    if (there !== undefined) return { ...wanted, folder: there };
    const from = path.join(this.#root(), project);
    return this.#checkouts.make(async (folder) => {
      let scan: Scan;
      try {
        scan = scanOf(from, new FolderEntries());
      } catch (error) {
        throw new UserError(`${this.shown} has no folder ${project} any more: ${reasonOf(error)}`);
      }
      for (const { name, target } of scan.files) {
        const to = path.join(folder, name);
        await mkdir(path.dirname(to), { recursive: true, mode: 0o700 });
        if (target !== undefined) await symlink(target, to);
        else {
          await copyFile(path.join(from, name), to);
          await chmod(to, 0o600);
        }
      }
      return { version: digestOf(folder, scan.files), commit: undefined };
    });
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

  #projectsIn(root: string): { project: string; file: string; isTwice: boolean }[] {
    const isProject = projectMatcher(this.#options.projects);
    const isDeep = this.#options.projects.some((pattern) => pattern.includes('**'));
    const deepest = isDeep
      ? 32
      : Math.max(...this.#options.projects.map((pattern) => pattern.split('/').length));
    const found: { project: string; file: string; isTwice: boolean }[] = [];
    const visit = (project: string, depth: number): void => {
      const { entries } = this.#entries.of(path.join(root, project));
      const [file, other] = PROJECT_FILES.filter((name) => entries.some((entry) => entry.name === name));
      if (file !== undefined && isProject(project))
        found.push({ project, file, isTwice: other !== undefined });
      if (depth >= deepest) return;
      for (const entry of entries) {
        if (!entry.isDirectory() || entry.name.startsWith('.') || entry.name === 'node_modules') continue;
        visit(project === '.' ? entry.name : `${project}/${entry.name}`, depth + 1);
      }
    };
    try {
      visit('.', 0);
    } catch (error) {
      throw new UserError(`cannot read the folder ${this.shown}: ${reasonOf(error)}`);
    }
    return found;
  }

  /** The version once nobody writes to it; undefined for a project that is gone meanwhile. */
  async #read(
    folder: string,
    {
      project,
      until,
      signal,
    }: { readonly project: string; readonly until: number; readonly signal: AbortSignal },
  ): Promise<{ version: string; text: string | undefined; signature: string } | undefined> {
    for (;;) {
      try {
        const scan = scanOf(folder, this.#entries);
        const known = this.#known.get(project);
        if (known?.signature === scan.signature) return known;
        const isSettled = Date.now() - scan.changed >= SETTLED;
        if (isSettled || Date.now() >= until) {
          const file = scan.files.find(({ name }) => PROJECT_FILES.includes(name));
          const text = file && textOf(folder, file);
          return { version: digestOf(folder, scan.files), text, signature: scan.signature };
        }
      } catch {
        // Files went away between two looks.
        if (Date.now() >= until) return undefined;
      }
      await pause(SETTLED / 4, undefined, { signal });
    }
  }
}

/** What lies in a project, without reading it. */
function scanOf(folder: string, folders: FolderEntries): Scan {
  const files: FileOfProject[] = [];
  let changed = 0;
  const note = (stats: BigIntStats): string => {
    changed = Math.max(changed, Number(stats.ctimeMs));
    return `${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`;
  };
  const visit = (inside: string): void => {
    const at = path.join(folder, inside);
    const { stats, entries } = folders.of(at);
    note(stats);
    for (const entry of entries) {
      if (PASSED_OVER.has(entry.name)) continue;
      const name = inside === '' ? entry.name : `${inside}/${entry.name}`;
      if (entry.isDirectory()) visit(name);
      else if (entry.isFile() || entry.isSymbolicLink()) {
        const file = path.join(folder, name);
        const target = entry.isSymbolicLink() ? readlinkSync(file) : undefined;
        files.push({ name, target, stamp: note(lstatSync(file, { bigint: true })) });
      }
    }
  };
  visit('');
  const signature = createHash('sha256').update(JSON.stringify(files)).digest('hex');
  return { files, signature, changed };
}

/** The same for the same files on every machine. */
function digestOf(folder: string, files: readonly FileOfProject[]): string {
  const digest = createHash('sha256');
  for (const { name, target } of files) {
    const content = target === undefined ? readFileSync(path.join(folder, name)) : Buffer.from(target);
    digest.update(JSON.stringify([name, target === undefined, content.length])).update(content);
  }
  return digest.digest('hex').slice(0, 40);
}

function textOf(folder: string, { name, target }: FileOfProject): string | undefined {
  return target === undefined ? readFileSync(path.join(folder, name), 'utf8') : undefined;
}
