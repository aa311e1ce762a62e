import { matching } from '../../engine/decide/scope.ts';
import { dashboardOf, recordUrl } from '../../engine/plan/dashboard-links.ts';
import { isGlob } from '../../manifests/resource.ts';
import { jsonText } from '../../output/json-text.ts';
import { noWrapColumns, renderTable } from '../../output/table.ts';
import { didYouMean } from '../../problems/suggest.ts';
import { advice, command, ExitCode, UserError, usageError } from '../../problems/user-error.ts';
import { type OpenWorkspace, openWorkspace } from '../../runs/open-workspace.ts';
import {
  checkOrphans,
  closeInState,
  isRightPlatform,
  type OrphanStatus,
  type RecordReads,
} from '../../runs/orphan-status.ts';
import type { LockOptions, PlatformOptions } from '../../runs/run-context.ts';
import { openOrphans } from '../../state/state.ts';
import type { ClosingReason, Orphan } from '../../state/state-document.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../flags.ts';

interface OrphansOptions extends PlatformOptions, LockOptions, JsonFlag {
  readonly all?: boolean;
  readonly check?: boolean;
}

export async function orphans(context: Context, options: OrphansOptions): Promise<number> {
  const opened = await openWorkspace(context, { requireKey: options.check ?? false });
  const state = await opened.state();
  const { orphans: listed } = state;
  const selected = options.all ? listed : openOrphans(state);
  const { log } = context;
  if (selected.length === 0 && options.output === 'text') {
    const more = listed.length - selected.length;
    log.info(more === 0 ? 'No orphans.' : `No open orphans; --all lists ${more} closed.`);
    return ExitCode.ok;
  }
  if (options.check) return check(context, opened, { options, selected });
  print(context, opened, { ...options, statuses: selected.map((orphan) => ({ ...orphan, exists: null })) });
  return ExitCode.ok;
}

/** Checks whether the record of each orphan still exists, and closes the orphans whose record is missing. */
async function check(
  context: Context,
  opened: OpenWorkspace,
  { options, selected }: { readonly options: OrphansOptions; readonly selected: readonly Orphan[] },
): Promise<number> {
  const { workspaceId } = opened.workspace;
  let { statuses, isTrusted } = await opened.withClient(options, async (client) => {
    const reads: RecordReads = { client, workspaceId, concurrency: opened.concurrency(options) };
    const statuses: readonly OrphanStatus[] = await checkOrphans(selected, reads);
    return { statuses, isTrusted: await isRightPlatform(statuses, await opened.stateWithoutWarnings(), reads) };
  });
  const missing = statuses.filter(({ exists, closed }) => exists === false && closed === undefined);
  if (options.output === 'text') print(context, opened, { ...options, statuses });
  const { exitCode } = context.interrupts;
  if (missing.length > 0 && !isTrusted) {
    context.log.warn('nothing was closed: none of the managed records exists either. Check the API key and base_url.');
  } else if (missing.length > 0 && exitCode === undefined) {
    const closed = { because: 'deleted', since: context.now().toISOString() } as const;
    const closing = missing.map(({ exists, ...orphan }) => ({ ...orphan, closed }));
    const done = new Set(await closeInState(opened, closing, options));
    for (const { address, id } of missing.filter((each) => done.has(each.id)))
      context.log.info(`Closed ${address} (${id}): missing from the platform.`);
    statuses = statuses.map((each) => (done.has(each.id) ? { ...each, closed } : each));
  }
  if (options.output === 'json') print(context, opened, { ...options, statuses });
  return exitCode ?? ExitCode.ok;
}

interface CloseOptions extends LockOptions {
  readonly ids: readonly string[];
  readonly all?: boolean;
  readonly because: ClosingReason;
}

export async function closeOrphans(context: Context, options: CloseOptions): Promise<void> {
  const { ids, all = false, because } = options;
  if (all === ids.length > 0) throw usageError('orphans close takes ids, addresses or globs, or --all');
  const opened = await openWorkspace(context, { requireKey: false });
  const { orphans: listed } = await opened.state();
  const closed = { because, since: context.now().toISOString() };
  const open = openOrphans({ orphans: listed });
  const selected = new Set(all ? open : ids.flatMap((given) => orphansMatching(given, listed)));
  if (selected.size === 0) context.log.info('No open orphans.');
  const closing = [...selected].map((orphan) => ({ ...orphan, closed }));
  const done = new Set(await closeInState(opened, closing, options));
  for (const { address, id, closed: earlier } of selected) {
    const previous = earlier === undefined || earlier.because === because ? '' : ` (was ${earlier.because})`;
    if (done.has(id)) context.terminal.out(`Closed ${address} (${id}): ${because}${previous}.\n`);
  }
}

/**
 * Returns the orphans that an argument selects. A glob selects only open orphans. An id selects any orphan. An address selects the open
 * orphan or, if there is none, the closed orphan.
 * @throws UserError if no orphan matches, or if several have the address.
 */
function orphansMatching(given: string, listed: readonly Orphan[]): readonly Orphan[] {
  if (isGlob(given)) {
    const open = openOrphans({ orphans: listed });
    const matches = new Set(matching(given, new Set(open.map(({ address }) => address)), 'orphans close'));
    return open.filter(({ address }) => matches.has(address));
  }
  const byId = listed.filter(({ id }) => id === given);
  if (byId.length > 0) return byId;
  const all = listed.filter(({ address }) => address === given);
  const open = openOrphans({ orphans: all });
  const matches = open.length > 0 ? open : all;
  if (matches.length === 1) return matches;
  const ids = matches.map(({ id }) => id);
  if (ids.length > 0) {
    const which = open.length > 0 ? 'open' : 'closed';
    throw new UserError(`${given} has ${ids.length} ${which} orphans: ${ids.join(', ')}`, { hint: 'Pass the id.' });
  }
  const known = listed.flatMap(({ id, address }) => [id, address]);
  throw new UserError(`${given} is not on the orphan list${didYouMean(given, known)}`, {
    hint: advice`Run ${command('orphans --all')} to list the ids.`,
  });
}

function print(
  { terminal }: Context,
  { workspace }: OpenWorkspace,
  { output, all = false, statuses }: OrphansOptions & { readonly statuses: readonly OrphanStatus[] },
) {
  const dashboard = dashboardOf(workspace);
  const linked = statuses.map((orphan) => {
    const url = recordUrl({ dashboard }, orphan);
    return { ...orphan, ...(url !== undefined && { url }) };
  });
  if (output === 'json') return terminal.out(jsonText(linked));
  const hasLinks = linked.some(({ url }) => url !== undefined);
  const more = [...(all ? ['CLOSED'] : []), ...(hasLinks ? noWrapColumns('LINK') : [])];
  const columns = [...noWrapColumns('WAS', 'ID'), 'REASON', 'SINCE', 'EXISTS', ...more];
  const rows = linked.map(({ address, id, reason, since, exists, closed, url = '' }) => [
    address,
    id,
    reason,
    since.slice(0, 10),
    exists === null ? '?' : exists ? 'yes' : 'no',
    ...(all ? [closed === undefined ? '-' : `${closed.because}, ${closed.since.slice(0, 10)}`] : []),
    ...(hasLinks ? [url] : []),
  ]);
  terminal.out(renderTable(columns, rows, terminal.tableStyle));
}
