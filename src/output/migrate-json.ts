import type { ApplyReport } from '../engine/apply/apply-report.ts';
import type { PlanDocument } from '../engine/plan/plan-document.ts';
import type { Address } from '../manifests/resource.ts';
import type { Reach } from '../problems/workspace-command.ts';
import type { ChecklistItem } from '../runs/migrate/checklist.ts';
import { outcomeJson } from './apply-json.ts';
import { haltOf } from './apply-words.ts';
import { checklistText, type MigrationEnd } from './migrate-text.ts';

interface MigrationFacts {
  readonly from: MigrationEnd;
  readonly to: MigrationEnd;
  readonly source: 'manifests' | 'live';
  readonly dryRun: boolean;
  readonly reach: Reach;
  readonly checklist: readonly ChecklistItem[];
  readonly files: readonly string[];
  readonly plan: PlanDocument | undefined;
  readonly report: ApplyReport | undefined;
  readonly oldIds: ReadonlyMap<Address, string>;
}

/** The migration as data: what was on the checklist, what was planned, and what became of each resource. */
export function migrateJson(facts: MigrationFacts): object {
  const { from, to, source, dryRun, reach, checklist, files, plan, report, oldIds } = facts;
  const halted = report === undefined ? undefined : haltOf(report);
  return {
    format_version: 1,
    from: endOf(from),
    to: endOf(to),
    source,
    dry_run: dryRun,
    checklist: checklist.map(({ moment, matter, addresses }) => ({
      moment,
      text: checklistText(matter, reach),
      addresses,
    })),
    files,
    summary: plan?.summary ?? null,
    resources: (plan?.resources ?? []).map(({ address, kind, action, id, reason, steps }) => {
      const result = report?.results.get(address);
      return {
        address,
        kind,
        action,
        from_id: oldIds.get(address) ?? null,
        to_id: (result?.status === 'done' ? result.id : null) ?? id,
        reason,
        ...(steps !== undefined && { steps }),
        ...outcomeJson(result),
      };
    }),
    warnings: report?.warnings ?? plan?.warnings ?? [],
    ...(report?.interrupted !== undefined && { interrupted: report.interrupted }),
    ...(halted !== undefined && { halted }),
  };
}

function endOf({ name, workspaceId, baseUrl }: MigrationEnd): object {
  return { workspace: name, workspace_id: workspaceId, base_url: baseUrl };
}
