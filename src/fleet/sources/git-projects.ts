import path from 'node:path';
import { eachConcurrently } from '../../engine/observe/each-concurrently.ts';
import { makeFolders } from '../../files/files.ts';
import { type FetchOptions, fetchGit } from '../../git/fetch-git.ts';
import type { GitAddress } from '../../git/git-address.ts';
import { JoinedWork } from '../../git/joined-work.ts';
import { ObjectReader, type TreeEntry } from '../../git/object-reader.ts';
import { type GitSetting, gitEnvironment, ISOLATION_SETTINGS, removeStaleFiles } from '../../git/run-git.ts';
import { MAX_FILE_BYTES } from '../../manifests/read-file.ts';
import { asDisposable } from '../../problems/as-disposable.ts';
import { UserError } from '../../problems/user-error.ts';
import { PROJECT_FILES } from '../../project/find-project.ts';
import { MAX_TREE_BYTES, treeProblem } from '../../project/project-size.ts';
import type { FoundProject, FoundProjects, ProjectVersion } from '../member.ts';
import { Checkouts } from './checkouts.ts';
import { fileProblem, findProjects, TOO_LARGE } from './find-projects.ts';
import type { Checkout, SourceReader } from './source-reader.ts';

interface GitProjectsOptions extends Pick<FetchOptions, 'env' | 'redact'> {
  readonly address: GitAddress;
  /** Returns the credentials for the server, if the address contains none. */
  readonly login?: (() => Promise<GitAddress['credentials']>) | undefined;
  readonly ref: string;
  readonly projects: readonly string[];
  /** The absolute path of the folder for the repository and its checkouts. */
  readonly home: string;
  /** The maximum number of bytes that the fetch of one commit may add to the repository. */
  readonly maxCommitBytes?: number | undefined;
}

const FETCHED_REF = 'refs/voxform/fetched';
const KEPT_REFS = 'refs/voxform/kept/';

/** The default of `maxCommitBytes`. There is a limit because anyone can push any number of files of any size to a fork. */
const MAX_COMMIT_BYTES = 256 * 1024 * 1024;
/** Settings for the fetch of a pull request's commit. git streams large objects, and writes all to one file of limited size. */
const COMMIT_SETTINGS: readonly GitSetting[] = [
  ['core.bigFileThreshold', '8m'],
  ['fetch.unpackLimit', '1'],
];
/** Settings that remove the objects of pull requests after a day. Until then, git keeps them in one file instead of one file each. */
const CLEAN_UP_SETTINGS: readonly GitSetting[] = [
  ['gc.pruneExpire', '1.day.ago'],
  ['gc.cruftPacks', 'true'],
];

/** Timeouts in milliseconds. The timeout for a pull request's commit is shorter, because fetches of the branch wait for this fetch. */
const TIMEOUT_MS = 120_000;
const COMMIT_TIMEOUT_MS = 30_000;

/** The number of projects whose sizes are checked concurrently. */
const CONCURRENCY = 8;

interface FoundInGit extends FoundProject {
  readonly fileId: string;
}

interface ProjectsInGit {
  readonly projects: readonly FoundInGit[];
  /** The problem with the size of each project, if any, by tree id. */
  readonly sizeProblems: ReadonlyMap<string, string | undefined>;
}

type GitCall = Pick<FetchOptions, 'signal' | 'index' | 'input' | 'maxFileBytes' | 'settings'> & {
  readonly timeout?: number | undefined;
  readonly address?: GitAddress;
};

/** Reads the projects of a branch. Uses one repository for all projects, and one checkout for each version in use. */
export class GitProjects implements SourceReader {
  readonly shown: string;
  readonly #options: GitProjectsOptions;
  readonly #checkouts: Checkouts;
  #newest: { readonly commit: string; readonly projects: readonly FoundInGit[] } | undefined;
  #isPrepared = false;
  readonly #preparing = new JoinedWork((signal) => this.#createRepository(signal));
  /** The last fetch. Fetches run one after another, because git refuses a fetch while another fetch changes the list of shallow commits. */
  #lastFetch: Promise<unknown> = Promise.resolve();
  /** The fetch of the branch, which concurrent callers share. */
  readonly #fetching = new JoinedWork((signal) => this.#fetch(`+${this.#options.ref}:${FETCHED_REF}`, signal));
  /** The problem with the size of each project at the newest commit, if any, by tree id. */
  #sizeProblems: ReadonlyMap<string, string | undefined> = new Map();

  constructor(options: GitProjectsOptions) {
    this.#options = options;
    this.shown = `${options.ref} of ${options.address.shown}`;
    this.#checkouts = new Checkouts(path.join(options.home, 'trees'));
  }

  async newest(signal: AbortSignal): Promise<FoundProjects> {
    await this.#fetching.join(signal);
    const commit = await this.#objectAt(`${FETCHED_REF}^{commit}`, signal);
    if (commit === undefined) throw new UserError(`${this.shown} has no commit`);
    return this.#contents(signal, async (objects) => {
      if (this.#newest?.commit === commit) return this.#newest;
      const { projects, sizeProblems } = await this.#projectsAt(commit, objects);
      this.#sizeProblems = sizeProblems;
      this.#newest = { commit, projects };
      return this.#newest;
    });
  }

  async at(commit: string, signal: AbortSignal): Promise<FoundProjects> {
    if (!/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(commit))
      throw new UserError(`${JSON.stringify(commit)} is not a commit`);
    const newest = this.#newest;
    if (newest?.commit === commit) return this.#contents(signal, async () => newest);
    await this.#prepare(signal);
    if ((await this.#objectAt(`${commit}^{tree}`, signal)) === undefined) {
      const { maxCommitBytes: maxFileBytes = MAX_COMMIT_BYTES } = this.#options;
      await this.#fetch(commit, signal, { maxFileBytes, settings: COMMIT_SETTINGS, timeout: COMMIT_TIMEOUT_MS });
    }
    return this.#contents(signal, async (objects) => ({ commit, ...(await this.#projectsAt(commit, objects)) }));
  }

  async #contents(
    signal: AbortSignal,
    find: (objects: ObjectReader) => Promise<{ readonly commit: string; readonly projects: readonly FoundInGit[] }>,
  ): Promise<FoundProjects> {
    const objects = this.#objects(signal);
    const found = await find(objects).catch(async (error: unknown) => {
      await objects.close();
      throw error;
    });
    const ids = new Map(found.projects.map(({ project, fileId }) => [project, fileId]));
    return {
      ...found,
      text: async ({ project }) => {
        const content = await objects.content(ids.get(project) ?? '', MAX_FILE_BYTES);
        return content?.toString() ?? '';
      },
      close: () => objects.close(),
    };
  }

  async checkout(project: string, wanted: ProjectVersion, signal: AbortSignal): Promise<Checkout> {
    const existing = await this.#checkouts.find(wanted.version);
    if (existing !== undefined) return { ...wanted, folder: existing };
    const available = await this.#availableVersion(project, wanted, signal);
    const other = await this.#checkouts.find(available.version);
    if (other !== undefined) return { ...available, folder: other };
    const problem = await this.#sizeProblemOf(available.version, signal);
    if (problem !== undefined) throw new UserError(`${project} of ${this.shown} cannot be used: ${problem}`);
    return this.#checkouts.create(async (folder, scratch) => {
      const args = ['--work-tree', folder, 'read-tree', '-u', '--reset', available.version];
      await this.#git(args, { signal, index: path.join(scratch, 'index') });
      return available;
    });
  }

  async keep(versions: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    await this.#prepare(signal);
    const newest = new Set(this.#newest?.projects.map(({ version }) => version));
    const keptRefs = await this.#git(['for-each-ref', '--format=%(refname)', KEPT_REFS], { signal });
    const lines = keptRefs.split('\n').filter((ref) => ref !== '');
    const kept = new Set(lines.map((ref) => ref.slice(KEPT_REFS.length)));
    const wanted = new Set([...versions].filter((version) => !newest.has(version)));
    const objects = this.#objects(signal);
    await using _objects = asDisposable(objects);
    const added = [...wanted].filter((id) => !kept.has(id));
    const existing = await Promise.all(added.map((id) => objects.header(`${id}^{tree}`)));
    const commands = [
      ...existing.flatMap((tree) => (tree === undefined ? [] : [`update ${KEPT_REFS}${tree.id} ${tree.id}`])),
      ...[...kept].filter((id) => !wanted.has(id)).map((id) => `delete ${KEPT_REFS}${id}`),
    ];
    if (commands.length > 0) await this.#git(['update-ref', '--stdin'], { signal, input: `${commands.join('\n')}\n` });
    await this.#checkouts.keep(versions);
    const call = { signal, settings: CLEAN_UP_SETTINGS };
    await this.#git(['gc', '--auto', '--quiet'], call).catch(() => undefined);
  }

  /** Returns the requested version, after fetching it if necessary; if it cannot be fetched, the newest version of the project. */
  async #availableVersion(project: string, wanted: ProjectVersion, signal: AbortSignal): Promise<ProjectVersion> {
    const { version, commit } = wanted;
    await this.#prepare(signal);
    const exists = async (): Promise<boolean> => (await this.#objectAt(`${version}^{tree}`, signal)) !== undefined;
    if (await exists()) return wanted;
    let problem: unknown;
    const noteProblem = (error: unknown): void => {
      problem = error;
    };
    await this.#fetching.join(signal).catch(noteProblem);
    if (await exists()) return wanted;
    if (commit !== undefined) await this.#fetch(commit, signal).catch(noteProblem);
    if (commit !== undefined && (await exists())) return wanted;
    signal.throwIfAborted();
    const folder = project === '.' ? '' : project;
    const newest = await this.#objectAt(`${FETCHED_REF}:${folder}`, signal);
    const newestCommit = await this.#objectAt(`${FETCHED_REF}^{commit}`, signal);
    if (newest !== undefined) return { version: newest, commit: newestCommit };
    throw problem ?? new UserError(`${this.shown} no longer has the folder ${project}`);
  }

  async #fetch(
    refspec: string,
    signal: AbortSignal,
    limits: Pick<GitCall, 'maxFileBytes' | 'settings' | 'timeout'> = {},
  ): Promise<void> {
    const { address, login } = this.#options;
    const credentials = login === undefined ? address.credentials : await login();
    const call = { ...limits, signal, address: { ...address, credentials } };
    const fetch = this.#lastFetch.then(() => this.#fetchNow(refspec, call));
    this.#lastFetch = fetch.catch(() => undefined);
    return fetch;
  }

  async #fetchNow(refspec: string, call: GitCall): Promise<void> {
    await this.#prepare(call.signal);
    await removeStaleFiles(this.#repository);
    const options = ['--no-tags', '--depth=1', '--no-write-fetch-head', '--no-auto-gc'];
    await this.#git(['fetch', ...options, '--', this.#options.address.url, refspec], call);
  }

  async #prepare(signal: AbortSignal): Promise<void> {
    if (!this.#isPrepared) await this.#preparing.join(signal);
  }

  async #createRepository(signal: AbortSignal): Promise<void> {
    await makeFolders(this.#options.home, { mode: 0o700 });
    const { address, env, redact } = this.#options;
    const options = { address, env, redact, signal, timeout: TIMEOUT_MS };
    await fetchGit(['init', '--quiet', '--bare', '--template=', '--', this.#repository], options);
    this.#isPrepared = true;
  }

  async #projectsAt(commit: string, objects: ObjectReader): Promise<ProjectsInGit> {
    const root = await objects.header(`${commit}^{tree}`);
    const { found, unknown } = await findProjects<TreeEntry>({
      patterns: this.#options.projects,
      root: { name: '', kind: 'folder', id: root?.id ?? '' },
      shown: this.shown,
      list: (_, { id }) => objects.tree(id, MAX_TREE_BYTES),
    });
    const sizeProblems = new Map<string, string | undefined>();
    await eachConcurrently(found, CONCURRENCY, async ({ entry: { id } }) => {
      sizeProblems.set(id, this.#sizeProblems.has(id) ? this.#sizeProblems.get(id) : await treeProblem(objects, id));
    });
    const projects = found.map(({ project, entry: { id: version }, files }): FoundInGit => {
      const [{ name: file, id: fileId }] = files;
      return { project, version, commit, file, fileId, problem: fileProblem(files) ?? sizeProblems.get(version) };
    });
    const [file = ''] = PROJECT_FILES;
    const unsearched = unknown.map(({ folder: project, entry: { id: version } }): FoundInGit => {
      return { project, version, commit, file, fileId: '', problem: TOO_LARGE, isUnknown: true };
    });
    return { projects: [...projects, ...unsearched], sizeProblems };
  }

  async #sizeProblemOf(tree: string, signal: AbortSignal): Promise<string | undefined> {
    if (this.#sizeProblems.has(tree)) return this.#sizeProblems.get(tree);
    const objects = this.#objects(signal);
    try {
      return await treeProblem(objects, tree);
    } finally {
      await objects.close();
    }
  }

  #objects(signal: AbortSignal): ObjectReader {
    return new ObjectReader(this.#repository, {
      env: gitEnvironment(this.#options.env, ISOLATION_SETTINGS),
      signal,
    });
  }

  #objectAt(name: string, signal: AbortSignal): Promise<string | undefined> {
    const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', name];
    return this.#git(args, { signal }).catch(() => undefined);
  }

  get #repository(): string {
    return path.join(this.#options.home, 'repository');
  }

  #git(args: readonly string[], { timeout = TIMEOUT_MS, ...call }: GitCall): Promise<string> {
    const { address, env, redact } = this.#options;
    return fetchGit(['--git-dir', this.#repository, ...args], {
      address,
      env,
      redact,
      timeout,
      ...call,
    });
  }
}
