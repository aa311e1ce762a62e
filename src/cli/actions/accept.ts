import { driftOf } from '../../engine/decide/drift-view.ts';
import { refuseUnknown } from '../../engine/decide/scope.ts';
import type { Address } from '../../manifests/resource.ts';
import { misuse } from '../../problems/user-error.ts';
import { type DriftFacts, driftValues } from '../../runs/accepted-values.ts';
import { type OpenWorkspace, openWorkspace } from '../../runs/open-workspace.ts';
import type { Context } from '../context.ts';
import type { PlatformFlags } from '../flags.ts';
import { acceptByRequest } from './accept-request.ts';
import { planAll } from './plan-report.ts';
import { type WriteBackOptions, writeBack } from './write-back.ts';

interface AcceptOptions extends PlatformFlags, WriteBackOptions {
  /** None for all that drifted. */
  readonly address: readonly string[];
  readonly pullRequest?: boolean;
}

/** Writes what somebody changed on the platform into the manifests, or into a request. Writes nothing to the platform, nor to the state. */
export async function accept(context: Context, options: AcceptOptions): Promise<number> {
  const { address: addresses, pullRequest = false } = options;
  if (pullRequest && addresses.length > 0) {
    throw misuse('--pull-request takes no addresses: it keeps one pull request for all drift of a workspace');
  }
  const opened = await openWorkspace(context, { requireKey: true });
  if (pullRequest) {
    return withDrift(context, { opened, options, addresses }, (facts) =>
      acceptByRequest(context, facts, options),
    );
  }
  const found = await withDrift(context, { opened, options, addresses }, (facts) =>
    driftValues(facts, addresses),
  );
  const words = { verb: 'Accept', nothing: 'No drift to accept.' };
  return writeBack(context, opened, { found, options, command: 'voxform accept', words });
}

interface DriftSought {
  readonly opened: OpenWorkspace;
  readonly options: AcceptOptions;
  readonly addresses: readonly Address[];
}

async function withDrift<T>(
  context: Context,
  { opened, options, addresses }: DriftSought,
  work: (facts: DriftFacts) => Promise<T>,
): Promise<T> {
  const { resources } = await opened.desired();
  const state = await opened.state();
  const earlier = resources.flatMap(({ kind, previousNames }) =>
    previousNames.map((name) => `${kind}/${name}`),
  );
  const known = [...resources.map(({ address }) => address), ...earlier, ...state.resources.keys()];
  refuseUnknown(addresses, { known: new Set([...known, ...state.pending.keys()]) });
  return opened.withClient(options, async (client) => {
    // A value that the platform keeps is no drift: a person accepts it, and no request.
    const retryIgnored = options.pullRequest !== true;
    const flags = { target: addresses, refresh: true, evenIfAll: true, retryIgnored, routes: !retryIgnored };
    const planning = { opened, state, client, desired: resources, flags: { ...options, ...flags } };
    const { plan } = await planAll(context, planning);
    return work({ opened, state, resources, drift: driftOf(plan), client });
  });
}
