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
  const written = resources
    .filter(({ action }) => writes.has(action))
    .map(({ source: _, reason: _reason, notices: _notices, routes: _routes, steps: _steps, ...all }) => {
      const { labels: _labels, ...rest } = all;
      return { ...rest, changes: rest.changes.map(({ names: _names, ...change }) => change) };
    });
  const approved = { workspace_id, base_url, lineage: state.lineage, secrets, guards, written };
  // Through JSON, so that a plan in memory and the same one read from a database give the same text.
  return createHash('sha256')
    .update(canonicalJson(JSON.parse(JSON.stringify(approved)) as Json))
    .digest('hex')
    .slice(0, 32);
}
