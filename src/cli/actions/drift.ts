import { driftOf, hasDrift } from '../../engine/decide/drift.ts';
import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import { driftReport } from '../../output/report.ts';
import { ExitCode } from '../../problems/user-error.ts';
import { type OpenWorkspace, openWorkspace } from '../../runs/open-workspace.ts';
import { preparedToPlan } from '../../runs/planning.ts';
import type { Context } from '../context.ts';
import type { PlatformFlags, SelectionFlags, WorkspacesFlags } from '../flags.ts';
import { planAll, progressFor, type ReportFlags, report } from './planning.ts';
import { inEach, severalCode, severalNamed } from './several.ts';

export interface DriftOptions extends SelectionFlags, PlatformFlags, WorkspacesFlags, ReportFlags {}

export async function drift(context: Context, options: DriftOptions): Promise<number> {
  const several = severalNamed(context, options);
  if (several !== undefined) {
    const found = await inEach(context, several, (opened) => driftIn(context, opened, options));
    const { done: documents, failures } = found;
    await report(context, options, { what: 'drift', reports: documents.map(driftReport), failures });
    return severalCode(context, found, codeFor(documents));
  }
  const opened = await openWorkspace(context, { requireKey: true });
  const document = await driftIn(context, opened, options);
  const { workspaceFlag } = opened;
  await report(context, { ...options, workspaceFlag }, driftReport(document));
  return codeFor([document]);
}

function codeFor(documents: readonly PlanDocument[]): number {
  return documents.some(hasDrift) ? ExitCode.changes : ExitCode.ok;
}

async function driftIn(
  context: Context,
  opened: OpenWorkspace,
  options: DriftOptions,
): Promise<PlanDocument> {
  return preparedToPlan(context, { opened, options }, async (prepared) => {
    const flags = { ...options, refresh: true, evenIfAll: true };
    const { plan } = await planAll(context, { ...prepared, opened, progress: progressFor(context), flags });
    return driftOf(plan);
  });
}
