import { createHash } from 'node:crypto';
import { canonicalJson } from '../../values/json.ts';
import { writes } from './plan-actions.ts';
import type { PlanDocument } from './plan-document.ts';

/** Adds a digest to the plan, which detects edited or truncated plan files. */
export function withDigest(document: PlanDocument): PlanDocument {
  return { ...document, digest: digestOfPlan(document) };
}

export function digestOfPlan(plan: object): string {
  return createHash('sha256')
    .update(canonicalJson({ ...plan, digest: undefined }))
    .digest('base64url');
}

/**
 * Returns a digest of the parts of a plan that a person approves: all writes, their target, the observed records, and the secrets. Plans
 * with equal digests perform the same writes, but their notes and unchanged resources may differ.
 */
export function approvalDigest(plan: PlanDocument): string {
  const { workspace_id, base_url, state, secrets, resources, guards } = plan;
  const hash = createHash('sha256');
  hash.update(canonicalJson({ workspace_id, base_url, lineage: state.lineage, secrets, guards }));
  for (const { source, url, reason, notices, routes, steps, labels, ...resource } of resources) {
    if (!writes.has(resource.action)) continue;
    const changes = resource.changes.map(({ names, ...change }) => change);
    hash.update(canonicalJson({ ...resource, changes }));
  }
  return hash.digest('hex').slice(0, 32);
}
