import type { ShownRecord } from '../../kinds/kind.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import { UserError } from '../../problems/user-error.ts';
import type { PlanDocument, PlanWarning } from '../plan/plan-document.ts';
import { type RoutingKind, routingKinds } from '../plan/routes.ts';
import type { ObserveOptions } from './observe-options.ts';
import { readList } from './read-list.ts';

export interface RoutesRead {
  readonly lists: ReadonlyMap<string, readonly ShownRecord[]>;
  /** What could not be known, and why. */
  readonly warnings: readonly PlanWarning[];
}

/**
 * Lists the records that may lead to something that the plan changes, and that were not listed for the plan itself. A list
 * that cannot be read is a warning: the plan is right without it.
 * @throws whatever ends the run.
 */
export async function readRoutes(
  document: PlanDocument,
  known: ReadonlyMap<string, readonly ShownRecord[]>,
  options: ObserveOptions,
): Promise<RoutesRead> {
  const lists = new Map(known);
  const warnings: PlanWarning[] = [];
  const lacking = routingKinds(document, options.kinds).filter(({ name }) => !lists.has(name));
  for (const kind of lacking) {
    if (!options.refresh) {
      warnings.push(unknown(kind, 'a plan without refresh does not read them'));
      continue;
    }
    try {
      lists.set(kind.name, await readList(kind, options));
    } catch (error) {
      const failure = error instanceof UserError ? error.cause : error;
      if (!(failure instanceof PlatformError)) throw error;
      if (failure.reason === 'aborted') throw error;
      const { method, path, status } = failure.facts;
      const how = status === undefined ? failure.reason : `answered ${status}`;
      warnings.push(unknown(kind, `reading them failed (${method} ${path}: ${how})`));
    }
  }
  return { lists, warnings };
}

function unknown({ routes: { noun } }: RoutingKind, why: string): PlanWarning {
  return { address: null, message: `the ${noun}s that use the changed resources are not known: ${why}` };
}
