import path from 'node:path';
import { inspect } from 'node:util';
import type { Environment } from '../manifests/secret-reader.ts';
import { isConcurrency, MAX_CONCURRENCY } from '../platform/concurrency-limit.ts';
import { errorChain } from '../problems/error-code.ts';
import { UserError } from '../problems/user-error.ts';
import { InvalidManifests, InvalidProject } from '../project/invalid-project.ts';
import { type OpenWorkspace, openWorkspace } from '../runs/open-workspace.ts';
import type { PlatformOptions, RunContext } from '../runs/run-context.ts';
import { ownVariables } from '../values/own-variables.ts';
import { Redactor } from '../values/redactor.ts';

export interface LogEntry {
  readonly level: 'warning' | 'info' | 'debug';
  readonly message: string;
}

export interface LoadOptions {
  /** The project folder. A relative path is resolved against the working directory of the process. */
  readonly cwd: string;
  /** The environment with secrets and `VOXFORM_…` variables, usually `process.env`. Default: empty. */
  readonly env?: Environment;
  /** The name of the workspace. Default: `VOXFORM_WORKSPACE`, or the default of the project. */
  readonly workspace?: string;
  /** Called for each log message. The library itself prints nothing. */
  log?(entry: LogEntry): void;
}

/** Options of all functions that call the platform. */
export interface CallOptions {
  /** Aborts the call. An apply finishes its writes in flight first. */
  readonly signal?: AbortSignal;
}

/** A project and its selected workspace. Each function that takes a project reads the files and the platform again. */
export interface Project {
  /** The absolute path of the project folder. */
  readonly root: string;
  readonly workspace: { readonly name: string; readonly id: string; readonly baseUrl: string };
}

const loadOptions = new WeakMap<Project, LoadOptions>();

/**
 * Opens the project in a folder. Does not need the API key.
 * @throws UserError, InvalidProject
 */
export function loadProject(options: LoadOptions): Promise<Project> {
  const { context, run } = contextOf(options, undefined);
  return run(async () => {
    const opened = await openWorkspace(context, { requireKey: false });
    const { name, workspaceId: id, baseUrl } = opened.workspace;
    const project = { root: opened.project.root, workspace: { name, id, baseUrl } };
    loadOptions.set(project, options);
    return project;
  });
}

interface LibraryCall {
  readonly opened: OpenWorkspace;
  /** Must be called before the first write. After this call, an abort lets requests in flight finish. */
  beginWriting(): void;
}

/**
 * Calls `work` with the opened project. Redacts secrets in errors. If the signal is aborted, rejects with its reason.
 * @internal
 */
export function runInProject<T>(
  project: Project,
  { signal, concurrency = 'auto' }: CallOptions & Pick<PlatformOptions, 'concurrency'>,
  work: (call: LibraryCall) => Promise<T>,
): Promise<T> {
  const options = loadOptions.get(project);
  if (options === undefined) throw new TypeError('the project was not returned by loadProject');
  const { context, run, beginWriting } = contextOf(options, signal);
  return run(async () => {
    if (!isConcurrency(concurrency)) {
      const expected = `"auto" or a whole number between 1 and ${MAX_CONCURRENCY}`;
      throw new UserError(`concurrency must be ${expected}, got ${inspect(concurrency)}`);
    }
    return work({ opened: await openWorkspace(context, { requireKey: true }), beginWriting });
  });
}

function contextOf({ cwd, env = {}, workspace, log }: LoadOptions, signal: AbortSignal | undefined) {
  const redactor = new Redactor();
  const requests = new AbortController();
  const abortRequests = (): void => requests.abort(signal?.reason);
  const logAt = (level: LogEntry['level']) => (message: string) => log?.({ level, message: redactor.redact(message) });
  return {
    context: {
      cwd: path.resolve(cwd),
      env: ownVariables(env),
      workspace,
      log: { warn: logAt('warning'), info: logAt('info'), debug: logAt('debug') },
      interrupts: { stop: signal ?? new AbortController().signal, requests: requests.signal },
      redactor,
      now: () => new Date(),
      failPoint: undefined,
    } satisfies RunContext,
    beginWriting: () => signal?.removeEventListener('abort', abortRequests),
    async run<T>(work: () => Promise<T>): Promise<T> {
      signal?.throwIfAborted();
      signal?.addEventListener('abort', abortRequests, { once: true });
      try {
        return await work();
      } catch (error) {
        if (requests.signal.aborted) throw signal?.reason;
        throw redactedError(error, redactor.redact);
      } finally {
        signal?.removeEventListener('abort', abortRequests);
      }
    },
  };
}

/** Redacts secrets in the messages and stacks of an error and its causes. */
function redactedError(error: unknown, redact: (text: string) => string): unknown {
  if (error instanceof InvalidManifests || error instanceof InvalidProject) {
    const diagnostics = error.diagnostics.map((each) => ({ ...each, message: redact(each.message) }));
    return error instanceof InvalidProject ? new InvalidProject(diagnostics) : new InvalidManifests(diagnostics);
  }
  for (const each of errorChain(error)) {
    if (!(each instanceof Error)) break;
    each.message = redact(each.message);
    if (each.stack !== undefined) each.stack = redact(each.stack);
  }
  return error;
}
