import type { PlanDocument, PlannedResource } from '../engine/plan/plan-document.ts';
import { notAppliedIn } from './action-words.ts';
import { plural } from './plural.ts';
import type { ResourceGroup } from './resource-text.ts';

/** What drifted, and what is missing. It proposes no change. */
export function driftGroups(
  resources: readonly PlannedResource[],
): readonly [drifted: ResourceGroup, missing: ResourceGroup] {
  const told = resources.filter(({ action }) => action !== 'noop').map(withoutProposal);
  return [
    {
      heading: 'Drifted',
      explanation: 'from the manifest to the current value on the platform',
      symbol: '~',
      colorOf: 'update',
      resources: told.filter(({ missing }) => missing === undefined),
      isPlain: () => true,
    },
    {
      heading: 'Missing',
      explanation: 'the platform has no such record',
      symbol: '-',
      colorOf: 'forget',
      resources: told.filter(({ missing }) => missing === true),
      isPlain: () => true,
    },
  ];
}

/** The closing sentences of a drift, e.g. `Drift: 2 resources drifted, 1 missing.` */
export function driftSummary(drift: PlanDocument): string[] {
  const [drifted, missing] = driftGroups(drift.resources).map(({ resources }) => resources.length);
  const found = [
    drifted ? `${plural(drifted, 'resource')} drifted` : '',
    missing ? `${drifted ? missing : plural(missing, 'resource')} missing` : '',
  ].filter((text) => text !== '');
  const kept = notAppliedIn(drift.resources);
  const same = drift.summary.noop - kept;
  const notApplied = kept === 0 ? [] : [`${kept} not applied by the platform.`];
  if (found.length > 0)
    return [`Drift: ${found.join(', ')}.`, ...notApplied, ...(same === 0 ? [] : [`${same} as applied.`])];
  if (drift.summary.noop === 0) return ['No drift.', 'No resources are declared.'];
  return ['No drift.', ...notApplied, ...(same === 0 ? [] : [`${plural(same, 'resource')} as applied.`])];
}

function withoutProposal({ steps: _, adopted: __, ...resource }: PlannedResource): PlannedResource {
  return resource;
}
