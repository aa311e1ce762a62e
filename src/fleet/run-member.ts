import type { Clock } from '../operator/clock.ts';
import { NO_REQUEST } from '../operator/drift-request.ts';
import type { GracefulShutdown } from '../operator/graceful-shutdown.ts';
import { LastGoodManifests } from '../operator/load-version.ts';
import type { Trigger } from '../operator/loop.ts';
import { Reconciler } from '../operator/reconciler.ts';
import type { RunReport } from '../operator/run-report.ts';
import type { ManifestSource, Version } from '../operator/source.ts';
import type { JointLimit } from '../platform/joint-limit.ts';
import { UserError } from '../problems/user-error.ts';
import type { RunContext } from '../runs/run-context.ts';
import { isSameState } from '../state/state-location.ts';
import { Redactor } from '../values/redactor.ts';
import type { FleetRule } from './addresses.ts';
import { ruleOf } from './fleet-file.ts';
import type { FreezeGate } from './freeze-gate.ts';
import type { LoadCache } from './load-cache.ts';
import type { ProjectCheckout, ProjectVersion, Sources } from './member.ts';
import type { RequestReason, RunRow } from './rows/run-rows.ts';

/** The inputs shared by all runs of a process. */
export interface MemberRuns {
  readonly sources: Sources;
  /** The run context without the parts that belong to a workspace. Its environment contains no secret of the fleet itself. */
  readonly context: Omit<RunContext, 'interrupts' | 'workspace' | 'projectFolder' | 'redactor'>;
  readonly clock: Clock;
  /** Limits the concurrent requests of all runs of this process. */
  readonly shared: JointLimit;
  readonly rules: readonly FleetRule[];
}

interface RunResources {
  readonly loads: LoadCache;
  readonly begin: NonNullable<RunContext['begin']>;
  readonly gate: FreezeGate;
}

export interface MemberRun {
  readonly report: RunReport;
  /** The version of the manifests that the run used. */
  readonly version: ProjectVersion;
  /** The location of the state for messages, if the state is not in the fleet's database. */
  readonly externalLocation?: string | undefined;
  redact(text: string): string;
}

const TRIGGERS: Readonly<Record<RequestReason, Trigger>> = {
  changed: 'files',
  requested: 'request',
  approved: 'request',
};

/**
 * Reconciles a workspace once and reports errors in the result.
 * @throws UserError if no version of the files can be read, or if the workspace must not run.
 */
export async function runMember(
  { sources, context, clock, shared, rules, loads, begin, gate }: MemberRuns & RunResources,
  row: RunRow,
  shutdown: GracefulShutdown,
): Promise<MemberRun> {
  if (row.conflict !== undefined) throw row.conflict;
  const redactor = new Redactor();
  const { requests } = shutdown;
  const checkout = (version: ProjectVersion) =>
    sources.checkout({ source: row.source, project: row.project, ...version }, requests);
  let checkoutError: UserError | undefined;
  const newest = await checkout({ version: row.version, commit: row.commit }).catch((error: unknown) => {
    const { good } = row;
    const mustFail = good === undefined || good.version === row.version || requests.aborted;
    if (mustFail || !(error instanceof UserError)) throw error;
    checkoutError = error;
    return checkout(good);
  });
  let usedVersion: ProjectVersion = newest;
  const source: ManifestSource = {
    name: row.source,
    isAtomic: true,
    fetch: async () => ({ ...versionOf(newest), problem: undefined }),
    async lastGood() {
      if (row.good === undefined || row.good.version === newest.version) return undefined;
      const good = await checkout(row.good);
      usedVersion = good;
      return versionOf(good);
    },
    keep: async () => undefined,
    originOf: () => sources.origin(row.source, row.project),
  };
  const workspaceContext = {
    ...context,
    shared,
    selection: { member: row.address },
    projectFolder: newest.folder,
    workspace: row.workspace,
    redactor,
    writes: gate,
  };
  const last = loads.take(row.address);
  const local = sources.local(row.source, row.project);
  const manifests = new LastGoodManifests({
    context: { ...workspaceContext, interrupts: shutdown },
    source,
    local,
    last,
    watchFiles: async () => false,
  });
  const reconciler = new Reconciler({
    context: { ...workspaceContext, begin },
    shutdown,
    clock,
    policy: {
      mode: row.mode,
      approved: row.approved,
      lockTimeout: 0,
      onDrift: ruleOf(rules, row.address).onDrift,
    },
    operation: 'fleet',
    address: row.address,
    fresh: row.fresh,
    manifests,
    missing: row.missing,
    origin: ({ version }) => source.originOf(version),
    request: row.request ?? NO_REQUEST,
    // Each version is complete, so missing resources were removed on purpose.
    removalDelay: 0,
    maxBusy: Number.POSITIVE_INFINITY,
    hasUnreadChanges: () => false,
    frozen: gate.frozen,
  });
  const trigger = row.asked === undefined ? (row.failures > 0 ? 'retry' : 'interval') : TRIGGERS[row.asked.why];
  const run = await reconciler.run({
    number: 1,
    triggers: [trigger],
    askedBy: row.asked?.by === undefined ? [] : [row.asked.by],
  });
  const report = checkoutError === undefined ? run : { ...run, invalid: { diagnostics: [], error: checkoutError } };
  loads.store(row.address, last);
  const { opened } = manifests.loaded ?? {};
  const defaultState = local.stateOf?.(row.workspace);
  const state = opened?.workspace.state;
  // A sealed state also counts as outside, because the page cannot read it even in the fleet's database.
  const isExternal =
    state !== undefined &&
    defaultState !== undefined &&
    (state.seal !== undefined || !isSameState(state, defaultState));
  const externalLocation = isExternal ? opened?.store.location : undefined;
  return { report, version: usedVersion, externalLocation, redact: (text) => redactor.redact(text) };
}

function versionOf({ folder, commit }: ProjectCheckout): Version {
  return { folder, commit };
}
