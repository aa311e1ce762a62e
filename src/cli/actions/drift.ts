import { driftOf, hasDrift } from '../../engine/decide/drift-view.ts';
import { ExitCode } from '../../problems/user-error.ts';
import { preparedToPlan } from '../../runs/planning.ts';
import type { PlatformOptions, SelectionOptions } from '../../runs/run-context.ts';
import type { Context } from '../context.ts';
import type { WorkspacesFlags } from '../flags.ts';
import { planAll, type ReportFlags } from './plan-report.ts';
import { reportEach } from './several.ts';

interface DriftOptions extends SelectionOptions, PlatformOptions, WorkspacesFlags, ReportFlags {
  readonly detailedExitcode: boolean;
}

export async function drift(context: Context, options: DriftOptions): Promise<number> {
  const all = { ...options, refresh: true, evenIfAll: true };
  return reportEach(context, options, {
    what: 'drift',
    look: (opened) =>
      preparedToPlan(opened, options, async (prepared) =>
        driftOf((await planAll(context, { ...prepared, opened, options: all })).plan),
      ),
    codeFor: (documents) => (options.detailedExitcode && documents.some(hasDrift) ? ExitCode.changes : ExitCode.ok),
  });
}
