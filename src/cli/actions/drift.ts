import { driftOf, hasDrift } from '../../engine/decide/drift-view.ts';
import { ExitCode } from '../../problems/user-error.ts';
import type { PlatformOptions, SelectionOptions } from '../../runs/run-context.ts';
import type { Context } from '../context.ts';
import type { WorkspacesFlags } from '../flags.ts';
import { type ReportFlags, reportEach, withPlan } from './report.ts';

interface DriftOptions extends SelectionOptions, PlatformOptions, WorkspacesFlags, ReportFlags {
  readonly detailedExitcode: boolean;
}

export async function drift(context: Context, options: DriftOptions): Promise<number> {
  const all = { ...options, refresh: true, evenIfAll: true };
  return reportEach(context, options, {
    type: 'drift',
    compute: (opened) => withPlan(context, { opened, options: all }, async ({ plan }) => driftOf(plan)),
    codeFor: (documents) => (options.detailedExitcode && documents.some(hasDrift) ? ExitCode.changes : ExitCode.ok),
  });
}
