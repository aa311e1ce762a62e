import { driftOf } from '../../engine/decide/drift.ts';
import { refuseUnknown } from '../../engine/decide/scope.ts';
import { acceptable, referableRecords } from '../../runs/accept.ts';
import { type OpenWorkspace, openWorkspace } from '../../runs/open-workspace.ts';
import type { Context } from '../context.ts';
import type { PlatformFlags } from '../flags.ts';
import { planAll } from './planning.ts';
import { type WriteBackOptions, writeBack } from './write-back.ts';

export interface AcceptOptions extends PlatformFlags, WriteBackOptions {
  /** None for all that drifted. */
  readonly address: readonly string[];
}

/** Writes what somebody changed on the platform into the manifests. Writes nothing to the platform, nor to the state. */
export async function accept(context: Context, options: AcceptOptions): Promise<number> {
  const opened = await openWorkspace(context, { requireKey: true });
  const found = await driftFound(context, opened, options);
  const words = { verb: 'Accept', nothing: 'No drift to accept.' };
  return writeBack(context, opened, { found, options, command: 'voxform accept', words });
}

async function driftFound(context: Context, opened: OpenWorkspace, options: AcceptOptions) {
  const { address: addresses } = options;
  const { resources } = await opened.desired();
  const state = await opened.state();
  const earlier = resources.flatMap(({ kind, previousNames }) =>
    previousNames.map((name) => `${kind}/${name}`),
  );
  const known = [...resources.map(({ address }) => address), ...earlier, ...state.resources.keys()];
  refuseUnknown(addresses, { known: new Set([...known, ...state.pending.keys()]) });
  return opened.withClient(options, async (client) => {
    const flags = { ...options, target: addresses, refresh: true, evenIfAll: true, retryIgnored: true };
    const { plan } = await planAll(context, { opened, state, client, desired: resources, flags });
    const found = acceptable(driftOf(plan), addresses);
    const declared = new Set(resources.map(({ address }) => address));
    const { workspaceId } = opened.workspace;
    const { wanted } = found;
    const around = { state, planned: plan.document, declared, wanted, client, workspaceId };
    return { ...found, records: await referableRecords(around) };
  });
}
