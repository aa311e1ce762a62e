import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { GitAddress } from '../../git/git-address.ts';
import { JoinedWork } from '../../git/joined-work.ts';
import { type FetchOptions, fetchGit } from '../../operator/git/fetch-git.ts';
import { UserError } from '../../problems/user-error.ts';
import { PROJECT_FILES } from '../../project/find-project.ts';
import type { ProjectVersion } from '../member.ts';
import { Checkouts } from './checkouts.ts';
import { projectMatcher } from './project-patterns.ts';
import type { CheckedOut, FoundProject, FoundProjects, SourceReader } from './source-reader.ts';

interface GitProjectsOptions extends Pick<FetchOptions, 'env' | 'redact'> {
  readonly address: GitAddress;
  readonly ref: string;
  /** Globs of project folders. */
  readonly projects: readonly string[];
  /** Absolute path of the folder for the repository and its checkouts. */
  readonly home: string;
}

const FETCHED = 'refs/voxform/fetched';
const KEPT = 'refs/voxform/kept/';

/** Milliseconds. */
const TIMEOUT = 120_000;

interface TreeEntry {
  readonly mode: string;
  readonly type: string;
  readonly id: string;
}

const LINK = '120000';

/** The projects of a branch: one repository for all of them, and a checkout of each that is used. */
export class GitProjects implements SourceReader {
  readonly shown: string;
  readonly #options: GitProjectsOptions;
  readonly #checkouts: Checkouts;
  #newest: FoundProjects | undefined;
  #isPrepared = false;
  readonly #preparing = new JoinedWork((signal) => this.#begin(signal));
  /** One fetch for all who want it at the same time. */
  readonly #fetching = new JoinedWork((signal) => this.#fetch(`+${this.#options.ref}:${FETCHED}`, signal));
  /** Texts of project files, by the ids of their blobs. */
  #texts = new Map<string, string>();

  constructor(options: GitProjectsOptions) {
    this.#options = options;
    this.shown = `${options.ref} of ${options.address.shown}`;
    this.#checkouts = new Checkouts(path.join(options.home, 'trees'));
  }

  async newest(signal: AbortSignal): Promise<FoundProjects> {
    await this.#fetching.join(signal);
    const commit = await this.#objectAt(`${FETCHED}^{commit}`, signal);
    if (commit === undefined) throw new UserError(`${this.shown} has no commit`);
    if (this.#newest?.commit !== commit) {
      this.#newest = { commit, projects: await this.#projectsAt(commit, signal) };
    }
    return this.#newest;
  }

  async checkout(project: string, wanted: ProjectVersion, signal: AbortSignal): Promise<CheckedOut> {
    const there = await this.#checkouts.find(wanted.version);
    if (there !== undefined) return { ...wanted, folder: there };
    const found = await this.#obtain(project, wanted, signal);
    const known = await this.#checkouts.find(found.version);
    if (known !== undefined) return { ...found, folder: known };
    return this.#checkouts.make(async (folder, scratch) => {
      const args = ['--work-tree', folder, 'read-tree', '-u', '--reset', found.version];
      await this.#git(args, { signal, index: path.join(scratch, 'index') });
      return found;
    });
  }

  async keep(versions: ReadonlySet<string>): Promise<void> {
    const signal = new AbortController().signal;
    await this.#prepare(signal);
    const newest = new Set(this.#newest?.projects.map(({ version }) => version));
    const kept = (await this.#git(['for-each-ref', '--format=%(refname)', KEPT], { signal }))
      .split('\n')
      .filter((ref) => ref !== '')
      .map((ref) => ref.slice(KEPT.length));
    const wanted = [...versions].filter((version) => !newest.has(version));
    const there = await Promise.all(wanted.map((id) => this.#objectAt(`${id}^{tree}`, signal)));
    const commands = [
      ...there.flatMap((id) => (id === undefined ? [] : [`update ${KEPT}${id} ${id}`])),
      ...kept.filter((id) => !wanted.includes(id)).map((id) => `delete ${KEPT}${id}`),
    ];
    if (commands.length > 0)
      await this.#git(['update-ref', '--stdin'], { signal, input: `${commands.join('\n')}\n` });
    await this.#checkouts.keep(versions);
    await this.#git(['gc', '--auto', '--quiet'], { signal }).catch(() => undefined);
  }

  /** The version in the repository, where need be after asking the server for it; else the newest of the project. */
  async #obtain(project: string, wanted: ProjectVersion, signal: AbortSignal): Promise<ProjectVersion> {
    const { version, commit } = wanted;
    await this.#prepare(signal);
    const isThere = async (): Promise<boolean> =>
      (await this.#objectAt(`${version}^{tree}`, signal)) !== undefined;
    if (await isThere()) return wanted;
    let problem: unknown;
    const note = (error: unknown): void => {
      problem = error;
    };
    await this.#fetching.join(signal).catch(note);
    if (await isThere()) return wanted;
    if (commit !== undefined) await this.#fetch(commit, signal).catch(note);
    if (commit !== undefined && (await isThere())) return wanted;
    signal.throwIfAborted();
    const place = project === '.' ? '' : project;
    const newest = await this.#objectAt(`${FETCHED}:${place}`, signal);
    const at = await this.#objectAt(`${FETCHED}^{commit}`, signal);
    if (newest !== undefined) return { version: newest, commit: at };
    throw problem ?? new UserError(`${this.shown} has no folder ${project} any more`);
  }

  async #fetch(what: string, signal: AbortSignal): Promise<void> {
    await this.#prepare(signal);
    const options = ['--no-tags', '--depth=1', '--no-write-fetch-head', '--no-auto-gc'];
    await this.#git(['fetch', ...options, '--', this.#options.address.url, what], { signal });
  }

  async #prepare(signal: AbortSignal): Promise<void> {
    if (!this.#isPrepared) await this.#preparing.join(signal);
  }

  /** Begins a repository, or finds the one that is there as it is. */
  async #begin(signal: AbortSignal): Promise<void> {
    await mkdir(this.#options.home, { recursive: true, mode: 0o700 });
    const { address, env, redact } = this.#options;
    const options = { address, env, redact, signal, timeout: TIMEOUT };
    await fetchGit(['init', '--quiet', '--bare', '--template=', '--', this.#repository], options);
    this.#isPrepared = true;
  }

  async #projectsAt(commit: string, signal: AbortSignal): Promise<FoundProject[]> {
    const root = await this.#objectAt(`${commit}^{tree}`, signal);
    const entries = entriesIn(
      await this.#git(['ls-tree', '-r', '-t', '-z', '--full-tree', commit], { signal }),
    );
    const isProject = projectMatcher(this.#options.projects);
    const found = [...entries].flatMap(([place, { type }]) => {
      const [folder, file] = [path.posix.dirname(place), path.posix.basename(place)];
      return type === 'blob' && PROJECT_FILES.includes(file) && isProject(folder) ? [{ folder, file }] : [];
    });
    const blobs = new Map(found.map((each) => [each, blobOf(entries, each)]));
    await this.#readTexts(
      [...blobs.values()].flatMap((blob) => blob ?? []),
      signal,
    );
    const twice = new Set(
      found.map(({ folder }) => folder).filter((folder, index, all) => all.indexOf(folder) < index),
    );
    return found
      .filter(({ folder, file }) => !(twice.has(folder) && file !== PROJECT_FILES[0]))
      .map((each): FoundProject => {
        const { folder: project, file } = each;
        const text = this.#texts.get(blobs.get(each) ?? '');
        const version = (project === '.' ? root : entries.get(project)?.id) ?? '';
        const problem = twice.has(project)
          ? `it has two project files, ${PROJECT_FILES.join(' and ')}; delete one of them`
          : text === undefined
            ? `${file} is a symbolic link; put the file itself there`
            : undefined;
        return { project, version, commit, file, text: text ?? '', problem };
      });
  }

  /** Reads those that are not known, in one process, and forgets those that are no longer there. */
  async #readTexts(ids: readonly string[], signal: AbortSignal): Promise<void> {
    const missing = [...new Set(ids)].filter((id) => !this.#texts.has(id));
    const read = missing.length === 0 ? Buffer.alloc(0) : await this.#batch(missing, signal);
    const texts = new Map<string, string>();
    for (let at = 0; at < read.length; ) {
      const end = read.indexOf('\n', at);
      const [id = '', , size = '0'] = read.toString('latin1', at, end).split(' ');
      at = end + 1 + Number(size) + 1;
      texts.set(id, read.toString('utf8', end + 1, at - 1));
    }
    this.#texts = new Map(
      ids.flatMap((id): [string, string][] => {
        const text = texts.get(id) ?? this.#texts.get(id);
        return text === undefined ? [] : [[id, text]];
      }),
    );
  }

  async #batch(ids: readonly string[], signal: AbortSignal): Promise<Buffer> {
    const text = await this.#git(['cat-file', '--batch'], {
      signal,
      input: `${ids.join('\n')}\n`,
      encoding: 'latin1',
    });
    return Buffer.from(`${text}\n`, 'latin1');
  }

  #objectAt(name: string, signal: AbortSignal): Promise<string | undefined> {
    const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', name];
    return this.#git(args, { signal }).catch(() => undefined);
  }

  get #repository(): string {
    return path.join(this.#options.home, 'repository');
  }

  #git(
    args: readonly string[],
    call: Pick<FetchOptions, 'signal' | 'index' | 'input' | 'encoding'>,
  ): Promise<string> {
    const { address, env, redact } = this.#options;
    return fetchGit(['--git-dir', this.#repository, ...args], {
      address,
      env,
      redact,
      timeout: TIMEOUT,
      ...call,
    });
  }
}

/** What `ls-tree -z` prints, by path. */
function entriesIn(text: string): Map<string, TreeEntry> {
  const entries = new Map<string, TreeEntry>();
  for (const line of text.split('\0')) {
    const tab = line.indexOf('\t');
    const [mode = '', type = '', id = ''] = line.slice(0, tab).split(' ');
    if (tab !== -1) entries.set(line.slice(tab + 1), { mode, type, id });
  }
  return entries;
}

/** Undefined for a symbolic link. */
function blobOf(
  entries: ReadonlyMap<string, TreeEntry>,
  { folder, file }: { readonly folder: string; readonly file: string },
): string | undefined {
  const entry = entries.get(folder === '.' ? file : `${folder}/${file}`);
  return entry?.mode === LINK ? undefined : entry?.id;
}
