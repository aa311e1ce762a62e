import type { PlanDocument } from '../engine/plan-document.ts';
import { type Planned, type Reconciling, reconcile } from '../engine/reconcile.ts';
import type { ReadProgress } from '../engine/report.ts';
import { kinds, lookups } from '../kinds/index.ts';
import type { Resource } from '../manifests/resource.ts';
import type { PlatformClient } from '../platform/client.ts';
import type { State } from '../state/state.ts';
import { VERSION } from '../version.ts';
import type { OpenWorkspace } from './open-workspace.ts';
import type { RunContext } from './run-context.ts';
import type { PlanningOptions, PlatformOptions } from './run-options.ts';

/** The state for a command that takes no lock, which says when another one is at work. */
export async function stateToRead({ log }: Pick<RunContext, 'log'>, opened: OpenWorkspace): Promise<State> {
  const holder = await opened.store.holder();
  if (holder !== undefined) {
    log.warn(
      `${holder.operation} of ${holder.who} is at work since ${holder.since}: this sees it half done, and takes creates under way for unknown`,
    );
  }
  return opened.state();
}

/** What a plan and the apply of a saved one have in common. */
export interface Surroundings {
  readonly opened: OpenWorkspace;
  readonly state: State;
  readonly client: PlatformClient;
  readonly options: PlatformOptions;
  now(): Date;
  onProgress?(progress: ReadProgress): void;
}

type Common = Omit<
  Reconciling,
  'desired' | 'selection' | 'refresh' | 'allowRecreate' | 'allowReplace' | 'guards'
>;

export function commonInput({ opened, state, client, options, now, onProgress }: Surroundings): Common {
  const { name, workspaceId, baseUrl } = opened.workspace;
  return {
    state,
    client,
    kinds,
    lookups,
    workspace: { name, id: workspaceId, baseUrl },
    concurrency: opened.concurrency(options),
    version: VERSION,
    now,
    ...(onProgress !== undefined && { onProgress }),
  };
}

export interface Planning extends Surroundings {
  readonly desired: readonly Resource[];
  readonly options: PlanningOptions;
}

/** The plan for everything that the options leave in scope. Reads the platform; writes nothing. */
export function planWorkspace(planning: Planning): Promise<Planned> {
  const { desired, options, opened } = planning;
  return reconcile({
    ...commonInput(planning),
    desired,
    selection: { targets: options.target ?? [], labels: options.selector ?? {} },
    refresh: options.refresh,
    allowRecreate: options.allowRecreate ?? false,
    allowReplace: options.allowReplace ?? [],
    guards: opened.project.guards,
    routes: options.routes ?? false,
  });
}

/** The number of resources that an apply would write. */
export function changesIn({ summary }: PlanDocument): number {
  return summary.create + summary.update + summary.replace + summary.adopt + summary.forget;
}
