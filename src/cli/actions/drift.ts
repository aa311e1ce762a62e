import { driftOf, hasDrift } from '../../engine/plan/drift.ts';
import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import { renderDriftText } from '../../output/drift-text.ts';
import { driftHtml } from '../../output/html/reports.ts';
import { jsonText } from '../../output/json-text.ts';
import { driftGithub } from '../../output/plan-github.ts';
import { driftMarkdown } from '../../output/plan-markdown.ts';
import { ExitCode } from '../../problems/user-error.ts';
import { type OpenWorkspace, openWorkspace } from '../../runs/open-workspace.ts';
import { preparedToPlan } from '../../runs/planning.ts';
import type { Context } from '../context.ts';
import type { FullFlag, PlatformFlags, SelectionFlags, WorkspacesFlags } from '../flags.ts';
import { type PlanFormat, planAll, progressFor, type Rendering } from './planning.ts';
import { inEach, renderedSeveral, severalCode, severalNamed } from './several.ts';

export interface DriftOptions extends SelectionFlags, PlatformFlags, WorkspacesFlags, FullFlag {
  readonly output: PlanFormat;
}

export async function drift(context: Context, options: DriftOptions): Promise<number> {
  const several = severalNamed(context, options);
  if (several !== undefined) {
    const found = await inEach(context, several, (opened) => driftIn(context, opened, options));
    const { done: documents, failures } = found;
    context.terminal.out(renderedSeveral({ what: 'drift', documents, failures }, options, context));
    return severalCode(context, found, codeFor(documents));
  }
  const document = await driftIn(context, await openWorkspace(context, { requireKey: true }), options);
  context.terminal.out(rendered(document, options, context));
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

function rendered(
  document: PlanDocument,
  { output, full }: Rendering,
  { terminal, verbose, now }: Context,
): string {
  switch (output) {
    case 'text':
      return renderDriftText(document, terminal.style, { verbose, full });
    case 'json':
      return jsonText(document);
    case 'markdown':
      return driftMarkdown(document, { full });
    case 'html':
      return driftHtml(document, { full, made: now() });
    case 'github':
      return driftGithub(document);
    default:
      return output satisfies never;
  }
}
