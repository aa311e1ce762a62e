import { sealed } from '../../engine/saved-plan.ts';
import { jsonText } from '../../output/json-text.ts';
import { ExitCode } from '../../problems/user-error.ts';
import { openWorkspace } from '../../workspaces/open-workspace.ts';
import { changesIn, stateToRead } from '../../workspaces/planning.ts';
import type { Context } from '../context.ts';
import type { PlanFlags } from '../flags.ts';
import { writePrivateFile } from '../private-file.ts';
import { type PlanFormat, planAll, progressFor, rendered, strictCode } from './planning.ts';

export interface PlanOptions extends PlanFlags {
  readonly output: PlanFormat;
  readonly out?: string;
  readonly detailedExitcode?: boolean;
}

export async function plan(context: Context, options: PlanOptions): Promise<number> {
  const opened = await openWorkspace(context, { requireKey: true });
  const { resources } = await opened.desired();
  const state = await stateToRead(context, opened);
  const client = opened.connect(options);
  try {
    const progress = progressFor(context);
    const planned = await planAll(context, {
      opened,
      state,
      client,
      progress,
      desired: resources,
      flags: { ...options, routes: true },
    });
    const document = sealed(planned.plan.document);
    if (options.out !== undefined) await writePrivateFile(context, options.out, jsonText(document));
    context.terminal.out(rendered(document, options.output, context));
    if (options.out !== undefined)
      context.log.info(`Saved. To apply exactly this: voxform apply ${options.out}`);
    const strict = strictCode(document, options);
    if (strict !== ExitCode.ok) return strict;
    return options.detailedExitcode && changesIn(document) > 0 ? ExitCode.changes : ExitCode.ok;
  } finally {
    await client.close();
  }
}
