import { dashboardOf, recordUrl } from '../../engine/plan/dashboard-links.ts';
import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import { kindOf } from '../../manifests/resource.ts';
import { plural } from '../../output/plural.ts';
import { renderTable, whole } from '../../output/table.ts';
import { didYouMean } from '../../problems/suggest.ts';
import { advice, command, ExitCode, misuse, UserError } from '../../problems/user-error.ts';
import { openWorkspace } from '../../runs/open-workspace.ts';
import type { LockOptions } from '../../runs/run-context.ts';
import type { StateSession } from '../../state/session.ts';
import type { State } from '../../state/state.ts';
import type { Context } from '../context.ts';
import { type Approval, approve, cancelled } from './confirm.ts';

interface ResolveOptions extends LockOptions {
  readonly address: readonly string[];
  readonly all?: boolean;
  /** A date or a moment. */
  readonly since?: string;
  readonly autoApprove?: boolean;
}

/** Resolves unknown creates as not created: the named ones, or all after approval. */
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
  const chosen = options.all ? sentSince(session.state, options.since) : [...new Set(options.address)];
  for (const address of chosen) if (!pending.has(address)) throw notPending(address, session.state);
  if (chosen.length === 0) {
    context.log.info('No unknown creates.');
    return ExitCode.ok;
  }
  if (options.all) {
    const links = context.dashboard === undefined ? [] : whole('LOOK FOR IT AT');
    const rows = chosen.map((address) => {
      const link = links.map(() => recordUrl(context, { kind: kindOf(address), id: null }) ?? '');
      return [address, pending.get(address)?.since ?? '', ...link];
    });
    terminal.out(renderTable([...whole('ADDRESS'), 'SENT', ...links], rows, terminal.tableStyle));
    if (!options.autoApprove && !(await approve(context, approvalOf(chosen.length))))
      return cancelled(context, { session });
  }
  for (const address of chosen) await session.record({ type: 'resolved', address });
  for (const address of chosen) {
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
  throw misuse(
    problem,
    advice`${command('state resolve ADDRESS... --not-created')}, or ${command('state resolve --all --not-created --since TIME')}`,
  );
}

/** Unknown creates sent since then, by address. */
function sentSince({ pending }: State, since: string | undefined): string[] {
  const earliest = since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since);
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
  const what = plural(count, 'create');
  return {
    question: `Resolve ${what} as not created? Records that do exist will be created again.`,
    verb: 'resolve',
    hint: 'Check the dashboard for the records, then approve with --auto-approve.',
  };
}
