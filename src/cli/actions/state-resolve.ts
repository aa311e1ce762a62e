import { dashboardOf, recordUrl } from '../../engine/plan/dashboard-links.ts';
import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import { kindOf } from '../../manifests/resource.ts';
import { plural } from '../../output/plural.ts';
import { noWrapColumns, renderTable } from '../../output/table.ts';
import { toMilliseconds } from '../../platform/date-range.ts';
import { didYouMean } from '../../problems/suggest.ts';
import { advice, command, ExitCode, UserError, usageError } from '../../problems/user-error.ts';
import { openWorkspace } from '../../runs/open-workspace.ts';
import type { LockOptions } from '../../runs/run-context.ts';
import type { StateSession } from '../../state/session.ts';
import type { State } from '../../state/state.ts';
import type { Context } from '../context.ts';
import { type Approval, approve, cancelled } from './confirm.ts';

interface ResolveOptions extends LockOptions {
  readonly address: readonly string[];
  readonly all?: boolean;
  /** Selects only creates that were sent at or after this date or time. */
  readonly since?: string;
  readonly autoApprove?: boolean;
}

/** Resolves unknown creates as not created: those at the given addresses, or all of them after approval. */
export async function resolvePending(context: Context, options: ResolveOptions): Promise<number> {
  refuseUnclear(options);
  const opened = await openWorkspace(context, { requireKey: false });
  return opened.inSession({ operation: 'state resolve', options }, (session) =>
    resolveIn(session, { ...context, dashboard: dashboardOf(opened.workspace) }, options),
  );
}

async function resolveIn(
  session: StateSession,
  context: Context & Pick<PlanDocument, 'dashboard'>,
  options: ResolveOptions,
): Promise<number> {
  const { terminal } = context;
  const { pending } = session.state;
  const addresses = options.all ? sentSince(session.state, options.since) : [...new Set(options.address)];
  for (const address of addresses) if (!pending.has(address)) throw notPending(address, session.state);
  if (addresses.length === 0) {
    context.log.info('No unknown creates.');
    return ExitCode.ok;
  }
  if (options.all) {
    const links = context.dashboard === undefined ? [] : noWrapColumns('DASHBOARD');
    const rows = addresses.map((address) => {
      const link = links.map(() => recordUrl(context, { kind: kindOf(address), id: null }) ?? '');
      return [address, pending.get(address)?.since ?? '', ...link];
    });
    terminal.out(renderTable([...noWrapColumns('ADDRESS'), 'SENT', ...links], rows, terminal.tableStyle));
    if (!options.autoApprove && !(await approve(context, approvalOf(addresses.length))))
      return cancelled(context, { session });
  }
  for (const address of addresses) await session.record({ type: 'resolved', address });
  for (const address of addresses) {
    const url = options.all ? undefined : recordUrl(context, { kind: kindOf(address), id: null });
    const where = url === undefined ? '' : ` If its record does exist after all (${url}), import it first.`;
    terminal.out(`Resolved ${address} as not created. The next apply creates it.${where}\n`);
  }
  return ExitCode.ok;
}

function refuseUnclear({ address: addresses, all, since }: ResolveOptions): void {
  const problem =
    all && addresses.length > 0
      ? '--all takes no addresses'
      : !all && since !== undefined
        ? '--since needs --all'
        : !all && addresses.length === 0
          ? 'no address given'
          : undefined;
  if (problem === undefined) return;
  throw usageError(
    problem,
    advice`${command('state resolve ADDRESS... --not-created')}, or ${command('state resolve --all --not-created --since TIME')}`,
  );
}

/** Returns the addresses of the unknown creates that were sent at or after `since`. */
function sentSince({ pending }: State, since: string | undefined): string[] {
  const earliest = since === undefined ? Number.NEGATIVE_INFINITY : toMilliseconds(since);
  return [...pending]
    .filter(([, create]) => Date.parse(create.since) >= earliest)
    .map(([address]) => address)
    .sort();
}

function notPending(address: string, { pending, resources }: State): UserError {
  const open = [...pending.keys()].sort();
  return new UserError(`${address} has no unknown create${didYouMean(address, open)}`, {
    hint: open.length === 0 ? 'The state has no unknown creates.' : `Unknown creates: ${open.join(', ')}.`,
    exitCode: resources.has(address) ? ExitCode.error : ExitCode.usage,
  });
}

function approvalOf(count: number): Approval {
  const creates = plural(count, 'create');
  return {
    question: `Resolve ${creates} as not created? Records that do exist will be created again.`,
    verb: 'resolve',
    hint: 'Check the dashboard for the records, then approve with --auto-approve.',
  };
}
