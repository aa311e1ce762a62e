import { setTimeout as delay } from 'node:timers/promises';
import { kinds, lookups } from '../../kinds/index.ts';
import { unknownKind } from '../../manifests/envelope.ts';
import { failureText } from '../../output/errors.ts';
import { jsonText } from '../../output/json-text.ts';
import { renderTable, whole } from '../../output/table.ts';
import { ExitCode, misuse, UserError } from '../../problems/user-error.ts';
import { commandFor } from '../../problems/workspace-command.ts';
import { type OpenWorkspace, openWorkspace } from '../../runs/open-workspace.ts';
import { type PlanSources, preparedToPlan } from '../../runs/planning.ts';
import { type ResourceStatus, statusOf } from '../../runs/resource-status.ts';
import type { PlatformOptions, SelectionOptions } from '../../runs/run-context.ts';
import type { SyncStatus } from '../../runs/sync-status.ts';
import { VERSION } from '../../version.ts';
import type { Context } from '../context.ts';
import type { JsonFlag, WorkspacesFlags } from '../flags.ts';
import { inEach, planAll, type Reported, severalCode, severalNamed } from './report.ts';

interface StatusOptions extends SelectionOptions, PlatformOptions, WorkspacesFlags, JsonFlag {
  readonly kind?: readonly string[];
  readonly only?: readonly string[];
  readonly detailedExitcode?: boolean;
  readonly waitPublished?: boolean;
  readonly timeout: number;
}

interface WorkspaceStatus {
  readonly workspace: string;
  readonly workspace_id: string;
  readonly resources: readonly ResourceStatus[];
}

/** Milliseconds between two reads while waiting for a publication. */
const PAUSE = 5_000;

export async function status(context: Context, options: StatusOptions): Promise<number> {
  refuseConflicts(options);
  const deadline = context.now().getTime() + options.timeout * 1000;
  const look = (opened: OpenWorkspace) => statusIn(context, opened, { options, deadline });
  const several = severalNamed(context, options);
  if (several !== undefined) {
    const reported = await inEach(context, several, look);
    printSeveral(context, reported, options);
    return severalCode(context, reported, codeFor(context, reported.done, options));
  }
  const opened = await openWorkspace(context, { requireKey: true });
  const found = await look(opened);
  const { terminal } = context;
  if (options.output === 'json') terminal.out(jsonText(found.resources));
  else terminal.out(table([found], context, { options }));
  if (options.output === 'text' && found.resources.some(({ status }) => withSteps.has(status)))
    context.log.info(`To show the steps: ${commandFor('voxform plan', opened.reach)}`);
  return codeFor(context, [found], options);
}

function refuseConflicts({ kind = [], only, waitPublished }: StatusOptions): void {
  for (const each of kind) if (!kinds.has(each)) throw misuse(unknownKind(each, { kinds, lookups }).message);
  if (only !== undefined && waitPublished) throw misuse('--only and --wait-published are mutually exclusive');
}

interface StatusPoll {
  readonly options: StatusOptions;
  /** The end of the wait, in milliseconds. */
  readonly deadline: number;
}

/** @throws UserError if a signal ends the wait. */
async function statusIn(
  context: Context,
  opened: OpenWorkspace,
  { options, deadline }: StatusPoll,
): Promise<WorkspaceStatus> {
  const { log, interrupts, now } = context;
  const { kind, only } = options;
  return preparedToPlan(opened, options, async (prepared) => {
    const all = { ...options, refresh: true, evenIfAll: true, publications: true };
    const look = async (given: PlanSources): Promise<ResourceStatus[]> => {
      const { plan } = await planAll(context, { ...given, opened, options: all });
      return statusOf(plan.document.resources.filter(({ kind: each }) => kind?.includes(each) ?? true));
    };
    let resources = await look(prepared);
    while (options.waitPublished && resources.some(({ unpublished }) => unpublished)) {
      const left = deadline - now().getTime();
      if (left <= 0) break;
      const waited = resources.filter(({ unpublished }) => unpublished).map(({ address }) => address);
      log.info(`Waiting for ${waited.join(', ')} to be published.`);
      await delay(Math.min(PAUSE, left), undefined, { signal: interrupts.stop }).catch(() => undefined);
      if (interrupts.exitCode !== undefined) throw new UserError('interrupted');
      resources = await look({ ...prepared, ahead: undefined });
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

function printSeveral(context: Context, { done, failures }: Reported<WorkspaceStatus>, options: StatusOptions): void {
  const { terminal } = context;
  const { output } = options;
  if (output === 'json') {
    const statuses = { format_version: 1, voxform_version: VERSION, statuses: done, failures };
    terminal.out(jsonText(statuses));
    return;
  }
  const parts = [
    ...(done.length === 0 ? [] : [table(done, context, { titled: true, options })]),
    ...failures.map((failure) => failureText(failure, terminal.style)),
  ];
  terminal.out(parts.join('\n'));
}

/** Statuses with steps that a plan lists. */
const withSteps: ReadonlySet<SyncStatus> = new Set(['manual', 'blocked', 'unknown']);

interface TableOptions {
  readonly titled?: boolean;
  readonly options: StatusOptions;
}

function table(
  found: readonly WorkspaceStatus[],
  { terminal }: Context,
  { titled = false, options: { kind, only } }: TableOptions,
): string {
  const rows = found.flatMap(({ workspace, resources }) =>
    resources.map(({ address, status, detail, url = '' }) => [
      ...(titled ? [workspace] : []),
      address,
      status,
      [detail, url].filter((part) => part !== '').join(' '),
    ]),
  );
  if (rows.length === 0 && (kind ?? only) !== undefined) return 'No resource matches.\n';
  if (rows.length === 0) return 'No resources in the manifests or the state.\n';
  const named = titled ? ['WORKSPACE', 'ADDRESS', 'STATUS'] : ['ADDRESS', 'STATUS'];
  const columns = [...whole(...named), { title: 'DETAIL', prose: true }];
  return renderTable(columns, rows, terminal.tableStyle);
}
