import type { PlanDocument } from '../../src/engine/plan/plan-document.ts';
import { inDashboard } from '../step-texts.ts';
import { change, plan, resource } from './sample-plan.ts';
import { evil } from './sample-styles.ts';

/** Returns a plan with hostile text in every field with external contents. */
export function hostilePlan(): PlanDocument {
  return plan(
    (['update', 'create', 'manual', 'noop'] as const).map((action) =>
      resource(`Agent/${evil}${action}`, {
        action,
        id: evil,
        url: action === 'update' ? `javascript:${evil}` : `https://${evil}.example/${evil}`,
        source: { file: evil, line: 1 },
        reason: evil,
        previous_address: evil,
        notices: [evil],
        steps: [inDashboard(evil), { action: 'import', address: evil, id: evil, reason: 'former' }],
        released: [evil],
        unverified: [evil],
        routes: [{ kind: evil, id: evil, address: evil, label: evil, ways: [evil], coming: [evil], leaving: [evil] }],
        changes: [
          change(evil, { after: evil }),
          change('a', { before: evil, after: `${evil}!` }),
          change('b', { before: { [evil]: [evil, evil, evil] }, after: [evil, { [evil]: evil }] }),
          change('c', { after: { unknown_until_apply: evil } }),
        ],
      }),
    ),
    {
      workspace: evil,
      workspace_id: evil,
      base_url: evil,
      warnings: [{ address: evil, message: evil, next: [{ action: 'retry_ignored', path: evil }] }],
      guards: [{ guard: 'large_change', message: evil }],
    },
  );
}
