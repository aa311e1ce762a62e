import type { PlanDocument, PlannedResource } from '../../../src/engine/plan/plan-document.ts';
import { plural } from '../../../src/output/plural.ts';
import { dashboardUrl } from '../../../src/project/dashboard-address.ts';

/** A summary of the last plan of a project, without values. */
export interface LastPlan {
  readonly workspace: string;
  /** Milliseconds since 1970. */
  readonly made: number;
  /** The results by address. */
  readonly results: Readonly<Record<string, ResultInPlan>>;
}

export interface ResultInPlan {
  readonly text: string;
  /** The dashboard URL of the record, if known. */
  readonly url: string | undefined;
}

export function lastPlan({ workspace, resources, dashboard = {} }: PlanDocument, made: number): LastPlan {
  const results = resources.map(({ address, ...resource }): [string, ResultInPlan] => {
    const template = Object.hasOwn(dashboard, resource.kind) ? dashboard[resource.kind] : undefined;
    const url = template === undefined || resource.id === null ? undefined : dashboardUrl(template, resource.id);
    return [address, { text: resultText(resource), url }];
  });
  return { workspace, made, results: Object.fromEntries(results) };
}

function resultText({ action, changes }: Pick<PlannedResource, 'action' | 'changes'>): string {
  const count = plural(changes.length, 'change');
  switch (action) {
    case 'noop':
      return 'in sync';
    case 'create':
      return 'not created yet';
    case 'update': {
      const drifted = changes.filter(({ cause }) => cause !== 'manifest').length;
      return drifted === 0 ? count : drifted === changes.length ? 'drifted' : `${count}, drifted`;
    }
    case 'adopt':
      return `${count}, to import`;
    case 'replace':
      return `${count}, to replace`;
    case 'forget':
      return 'to forget';
    case 'manual':
      return 'manual step';
    case 'blocked':
    case 'unknown':
      return action;
    default:
      return action satisfies never;
  }
}

const AGES = [
  { unit: 'd', seconds: 86_400 },
  { unit: 'h', seconds: 3600 },
  { unit: 'min', seconds: 60 },
];

/** Formats an age, such as `5 min ago`. */
export function ageText(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  const age = AGES.find((each) => seconds >= each.seconds);
  return age === undefined ? 'just now' : `${Math.floor(seconds / age.seconds)} ${age.unit} ago`;
}
