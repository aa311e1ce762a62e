import { driftOf, hasDrift } from '../../engine/drift.ts';
import type { PlanDocument } from '../../engine/plan-document.ts';
import { renderDriftText } from '../../output/drift-text.ts';
import { jsonText } from '../../output/json-text.ts';
import { driftGithub } from '../../output/plan-github.ts';
import { driftMarkdown } from '../../output/plan-markdown.ts';
import { ExitCode } from '../../problems/user-error.ts';
import { openWorkspace } from '../../workspaces/open-workspace.ts';
import { stateToRead } from '../../workspaces/planning.ts';
import type { Context } from '../context.ts';
import type { PlatformFlags, SelectionFlags } from '../flags.ts';
import { type PlanFormat, planAll, progressFor } from './planning.ts';

export interface DriftOptions extends SelectionFlags, PlatformFlags {
  readonly output: PlanFormat;
}

export async function drift(context: Context, options: DriftOptions): Promise<number> {
  const opened = await openWorkspace(context, { requireKey: true });
  const { resources } = await opened.desired();
  const state = await stateToRead(context, opened);
  const client = opened.connect(options);
  try {
    const progress = progressFor(context);
    const flags = { ...options, refresh: true, allowRecreate: true };
    const { plan } = await planAll(context, { opened, state, client, progress, desired: resources, flags });
    const document = driftOf(plan);
    context.terminal.out(rendered(document, options.output, context));
    return hasDrift(document) ? ExitCode.changes : ExitCode.ok;
  } finally {
    await client.close();
  }
}

function rendered(document: PlanDocument, format: PlanFormat, { terminal, verbose }: Context): string {
  switch (format) {
    case 'text':
      return renderDriftText(document, terminal.style, { verbose });
    case 'json':
      return jsonText(document);
    case 'markdown':
      return driftMarkdown(document);
    case 'github':
      return driftGithub(document);
    default:
      return format satisfies never;
  }
}
