import { createHash } from 'node:crypto';
import { canonicalJson, type Json } from '../../values/json.ts';
import { writes } from './plan-actions.ts';
import type { PlanDocument } from './plan-document.ts';

/**
 * A digest of what a person approves: all writes, their target, the observed records, and the secrets. A plan with the same digest would
 * write the same; notes and unchanged resources may differ.
 */
export function approvalDigest(plan: PlanDocument): string {
  const { workspace_id, base_url, state, secrets, resources, guards } = plan;
  const hash = createHash('sha256');
  // Converts to JSON first: a plan in memory and one from a database must give the same text.
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
