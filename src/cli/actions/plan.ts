import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import { sealed } from '../../engine/plan/saved-plan.ts';
import { jsonText } from '../../output/json-text.ts';
import { planReport } from '../../output/report.ts';
import { ExitCode, UserError } from '../../problems/user-error.ts';
import { type OpenWorkspace, openWorkspace } from '../../runs/open-workspace.ts';
import { changesIn, preparedToPlan } from '../../runs/planning.ts';
import type { Context } from '../context.ts';
import type { PlanFlags, WorkspacesFlags } from '../flags.ts';
import { writePrivateFile } from '../private-file.ts';
import {
  planAll,
  progressFor,
  type ReportFlags,
  refuseLooseEvenIfAll,
  report,
  strictCode,
} from './planning.ts';
import { inEach, severalCode, severalNamed } from './several.ts';

export interface PlanCommandFlags extends PlanFlags, WorkspacesFlags, ReportFlags {
  readonly out?: string;
  readonly detailedExitcode?: boolean;
}

export async function plan(context: Context, options: PlanCommandFlags): Promise<number> {
  refuseLooseEvenIfAll(options);
  const several = severalNamed(context, options);
  if (several !== undefined) return planSeveral(context, several, options);
  const opened = await openWorkspace(context, { requireKey: true });
  const document = await planOf(context, opened, options);
  if (options.out !== undefined) await writePrivateFile(context, options.out, jsonText(sealed(document)));
  const { workspaceFlag } = opened;
  await report(context, { ...options, workspaceFlag }, planReport(document));
  if (options.out !== undefined) context.log.info(`Plan saved. To apply it: voxform apply ${options.out}`);
  return codeFor([document], options);
}

async function planSeveral(
  context: Context,
  names: readonly string[] | 'all',
  options: PlanCommandFlags,
): Promise<number> {
  if (options.out !== undefined) {
    throw new UserError('--out takes one workspace only', {
      hint: 'Save one plan per workspace: voxform plan --workspace NAME --out FILE',
      exitCode: ExitCode.usage,
    });
  }
  const planned = await inEach(context, names, (opened) => planOf(context, opened, options));
  const { done: documents, failures } = planned;
  await report(context, options, { what: 'plan', reports: documents.map(planReport), failures });
  return severalCode(context, planned, codeFor(documents, options));
}

async function planOf(
  context: Context,
  opened: OpenWorkspace,
  options: PlanCommandFlags,
): Promise<PlanDocument> {
  return preparedToPlan(context, { opened, options }, async (prepared) => {
    const flags = { ...options, routes: true };
    const { plan } = await planAll(context, { ...prepared, opened, progress: progressFor(context), flags });
    return plan.document;
  });
}

function codeFor(documents: readonly PlanDocument[], options: PlanCommandFlags): number {
  if (documents.some((document) => strictCode(document, options) !== ExitCode.ok)) return ExitCode.error;
  const changed = documents.some((document) => changesIn(document) > 0);
  return options.detailedExitcode && changed ? ExitCode.changes : ExitCode.ok;
}
