import { kinds, lookups } from '../kinds/index.ts';
import { declarationsOnce } from '../project/read-declarations.ts';
import { selectWorkspaces } from '../project/select-workspace.ts';
import { OpenWorkspace, openProject } from './open-workspace.ts';
import type { RunContext, RunSignals } from './run-context.ts';

/** Opens the project of the context's folder with these workspaces, or all of them. Its files are read once for all. */
export async function openWorkspaces(
  context: RunContext,
  names: readonly string[] | 'all',
): Promise<readonly OpenWorkspace[]> {
  const project = await openProject(context);
  const selected = selectWorkspaces(project, { names, env: context.env, requireKey: true });
  const declarations = declarationsOnce(project, { kinds, lookups });
  return selected.map((workspace) => new OpenWorkspace(context, { project, workspace, declarations }));
}

/** A workspace of several with which something went wrong. */
export interface FailedWorkspace {
  readonly workspace: string;
  readonly baseUrl: string;
  readonly error: unknown;
}

interface OfEach<T> {
  readonly done: readonly T[];
  readonly failed: readonly FailedWorkspace[];
}

/**
 * Does the work for one workspace after the other. One that fails does not keep the others from having their turn; only a run
 * that was told to stop ends.
 */
export async function forEachWorkspace<T>(
  opened: readonly OpenWorkspace[],
  { stop }: Pick<RunSignals, 'stop'>,
  work: (opened: OpenWorkspace) => Promise<T>,
): Promise<OfEach<T>> {
  const done: T[] = [];
  const failed: FailedWorkspace[] = [];
  for (const each of opened) {
    try {
      done.push(await work(each));
    } catch (error) {
      if (stop.aborted) throw error;
      const { name, baseUrl } = each.workspace;
      failed.push({ workspace: name, baseUrl, error });
    }
  }
  return { done, failed };
}
