import { createHash } from 'node:crypto';
import { canonicalJson, type Json } from '../../values/json.ts';
import { writes } from './plan-actions.ts';
import type { PlanDocument } from './plan-document.ts';

/**
 * What a person approves of a plan: all that it writes, where, over what, and with which secrets. Another plan with the same digest would
 * write the same; notes on it, and resources that it leaves as they are, may differ.
 */
export function approvalDigest(plan: PlanDocument): string {
  const { workspace_id, base_url, state, secrets, resources, guards } = plan;
  const hash = createHash('sha256');
  // Through JSON, so that a plan in memory and the same one read from a database give the same text.
  const add = (part: object) => hash.update(canonicalJson(JSON.parse(JSON.stringify(part)) as Json));
  add({ workspace_id, base_url, lineage: state.lineage, secrets, guards });
  for (const resource of resources.filter(({ action }) => writes.has(action))) {
    const {
      source: _,
      url: _url,
      reason: _reason,
      notices: _notices,
      routes: _routes,
      steps: _steps,
      ...all
    } = resource;
    const { labels: _labels, ...rest } = all;
    add({ ...rest, changes: rest.changes.map(({ names: _names, ...change }) => change) });
  }
  return hash.digest('hex').slice(0, 32);
}
