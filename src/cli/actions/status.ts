import { setTimeout as delay } from 'node:timers/promises';
import { kinds, lookups } from '../../kinds/index.ts';
import { unknownKind } from '../../manifests/envelope.ts';
import { failureText } from '../../output/errors.ts';
import { jsonText } from '../../output/json-text.ts';
import type { Style } from '../../output/style.ts';
import { noWrapColumns, renderTable } from '../../output/table.ts';
import { ExitCode, UserError, usageError } from '../../problems/user-error.ts';
import { commandFor } from '../../problems/workspace-command.ts';
import { type OpenWorkspace, openWorkspace } from '../../runs/open-workspace.ts';
import { type PlanSources, withPlanInputs } from '../../runs/planning.ts';
import { type ResourceStatus, statusOf } from '../../runs/resource-status.ts';
import type { PlatformOptions, SelectionOptions } from '../../runs/run-context.ts';
import type { SyncStatus } from '../../runs/sync-status.ts';
import { VERSION } from '../../version.ts';
import type { Context } from '../context.ts';
import type { JsonFlag, WorkspacesFlags } from '../flags.ts';
import { exitCodeForWorkspaces, forEachWorkspace, planAll, requestedWorkspaces } from './report.ts';

interface StatusOptions extends SelectionOptions, PlatformOptions, WorkspacesFlags, JsonFlag {
  readonly kind?: readonly string[];
  readonly only?: readonly string[];
  readonly detailedExitcode?: boolean;
  readonly waitPublished?: boolean;
  /** In seconds. */
  readonly timeout?: number;
}

interface WorkspaceStatus {
  readonly workspace: string;
  readonly workspace_id: string;
  readonly resources: readonly ResourceStatus[];
}

/** The time between two reads while waiting for a publication. */
const POLL_INTERVAL_MS = 5_000;

const DEFAULT_TIMEOUT_SECONDS = 600;

export async function status(context: Context, options: StatusOptions): Promise<number> {
  refuseConflicts(options);
  const deadline = context.now().getTime() + (options.timeout ?? DEFAULT_TIMEOUT_SECONDS) * 1000;
  const readStatus = (opened: OpenWorkspace) => statusIn(context, opened, { ...options, deadline });
  const several = requestedWorkspaces(context, options);
  const { terminal, log } = context;
  const isJson = options.output === 'json';
  if (several !== undefined) {
    const results = await forEachWorkspace(context, several, readStatus);
    const { done: statuses, failures } = results;
    const parts = [
      ...(statuses.length === 0 ? [] : [table(statuses, terminal.tableStyle, options)]),
      ...failures.map((failure) => failureText(failure, terminal.style)),
    ];
    terminal.out(
      isJson ? jsonText({ format_version: 1, voxform_version: VERSION, statuses, failures }) : parts.join('\n'),
    );
    return exitCodeForWorkspaces(context, results, codeFor(context, statuses, options));
  }
  const opened = await openWorkspace(context, { requireKey: true });
  const found = await readStatus(opened);
  terminal.out(isJson ? jsonText(found.resources) : table(found, terminal.tableStyle, options));
  if (!isJson && found.resources.some(({ status }) => statusesWithSteps.has(status)))
    log.info(`To show the steps: ${commandFor('voxform plan', opened.selection)}`);
  return codeFor(context, [found], options);
}

function refuseConflicts({ kind = [], only, timeout, waitPublished = false }: StatusOptions): void {
  for (const each of kind) if (!kinds.has(each)) throw usageError(unknownKind(each, { kinds, lookups }).message);
  if (timeout !== undefined && !waitPublished) throw usageError('--timeout needs --wait-published');
  if (only !== undefined && waitPublished) throw usageError('--only and --wait-published are mutually exclusive');
}

/**
 * Reads the status of a workspace. With `waitPublished`, reads it repeatedly until every agent is published.
 * @param options `deadline` is the time in milliseconds at which the wait ends.
 * @throws UserError if a signal aborts the wait.
 */
async function statusIn(
  context: Context,
  opened: OpenWorkspace,
  options: StatusOptions & { readonly deadline: number },
): Promise<WorkspaceStatus> {
  const { log, interrupts, now } = context;
  const { kind, only, deadline } = options;
  return withPlanInputs(opened, options, async (prepared) => {
    const all = { ...options, refresh: true, evenIfAll: true, publications: true };
    const readResources = async (sources: PlanSources): Promise<ResourceStatus[]> => {
      const { plan } = await planAll(context, { ...sources, opened, options: all });
      return statusOf(plan.document.resources.filter(({ kind: each }) => kind?.includes(each) ?? true));
    };
    let resources = await readResources(prepared);
    while (options.waitPublished && resources.some(({ unpublished }) => unpublished)) {
      const remainingMs = deadline - now().getTime();
      if (remainingMs <= 0) break;
      const unpublishedAgents = resources.filter(({ unpublished }) => unpublished).map(({ address }) => address);
      log.info(`Waiting for ${unpublishedAgents.join(', ')} to be published.`);
      await delay(Math.min(POLL_INTERVAL_MS, remainingMs), undefined, { signal: interrupts.stop }).catch(
        () => undefined,
      );
      if (interrupts.exitCode !== undefined) throw new UserError('interrupted');
      resources = await readResources({ ...prepared, ahead: undefined });
    }
    const { name, workspaceId } = opened.workspace;
    const shown = resources.filter(({ status }) => only?.includes(status.replace(' ', '-')) ?? true);
    return { workspace: name, workspace_id: workspaceId, resources: shown };
  });
}

function codeFor(
  { log }: Context,
  found: readonly WorkspaceStatus[],
  { waitPublished, detailedExitcode }: StatusOptions,
): number {
  const rows = found.flatMap(({ resources }) => resources);
  if (waitPublished && rows.some(({ unpublished }) => unpublished)) {
    log.warn('timed out waiting for agents to be published');
    return ExitCode.error;
  }
  return detailedExitcode && rows.some(({ status }) => status !== 'in sync') ? ExitCode.changes : ExitCode.ok;
}

/** The statuses for which a plan lists next steps. */
const statusesWithSteps: ReadonlySet<SyncStatus> = new Set(['manual', 'blocked', 'unknown']);

/** Returns the table of one workspace, or of several workspaces with their names. */
function table(
  found: WorkspaceStatus | readonly WorkspaceStatus[],
  style: Style,
  { kind, only }: StatusOptions,
): string {
  const hasNames = Array.isArray(found);
  const rows = [found]
    .flat()
    .flatMap(({ workspace, resources }) =>
      resources.map(({ address, status, detail, url = '' }) => [
        ...(hasNames ? [workspace] : []),
        address,
        status,
        [detail, url].filter((part) => part !== '').join(' '),
      ]),
    );
  if (rows.length === 0 && (kind ?? only) !== undefined) return 'No resource matches.\n';
  if (rows.length === 0) return 'No resources in the manifests or the state.\n';
  const columns = [
    ...noWrapColumns(...(hasNames ? ['WORKSPACE'] : []), 'ADDRESS', 'STATUS'),
    { title: 'DETAIL', prose: true },
  ];
  return renderTable(columns, rows, style);
}
