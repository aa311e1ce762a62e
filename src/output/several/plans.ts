import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import type { WorkspaceFailure } from '../../runs/plans-document.ts';
import { planSummary } from '../action-words.ts';
import { renderDriftText } from '../drift-text.ts';
import { driftSummary } from '../drift-words.ts';
import { escapeControls } from '../escape-controls.ts';
import { MARKDOWN_LIMIT } from '../markdown-page.ts';
import { markdownCode, markdownText } from '../markdown-text.ts';
import type { WorkspaceFlag } from '../next-steps.ts';
import { driftGithub, planGithub } from '../plan-github.ts';
import { driftMarkdown, planMarkdown } from '../plan-markdown.ts';
import { renderPlanText } from '../plan-text.ts';
import { plural } from '../plural.ts';
import type { Style } from '../style.ts';
import { displayWidth, pad } from '../text-width.ts';
import { failureGithub, failureMarkdown, failureText } from './failures.ts';

/** Plans, or what drifted, of several workspaces. */
export interface SeveralPlans {
  readonly what: 'plan' | 'drift';
  readonly documents: readonly PlanDocument[];
  readonly failures: readonly WorkspaceFailure[];
}

/** Whoever plans several workspaces has to name one. */
export function flagOf({ workspace }: PlanDocument): WorkspaceFlag {
  return ` -w ${workspace}`;
}

interface Words {
  readonly text: typeof renderPlanText;
  readonly markdown: typeof planMarkdown;
  readonly github: typeof planGithub;
  summary(document: PlanDocument): readonly string[];
}

const words: Readonly<Record<SeveralPlans['what'], Words>> = {
  plan: { text: renderPlanText, markdown: planMarkdown, github: planGithub, summary: planSummary },
  drift: { text: renderDriftText, markdown: driftMarkdown, github: driftGithub, summary: driftSummary },
};

/** Each workspace under its heading, what failed, and a line for each at the end. */
export function severalPlansText(
  { what, documents, failures }: SeveralPlans,
  style: Style,
  { verbose, full }: { readonly verbose: boolean; readonly full?: boolean | undefined },
): string {
  const { text, summary } = words[what];
  const parts = [
    ...documents.map((document) =>
      text(document, style, { verbose, full, headed: true, workspaceFlag: flagOf(document) }),
    ),
    ...failures.map((failure) => failureText(failure, style)),
  ];
  const names = [...documents, ...failures].map(({ workspace }) => escapeControls(workspace));
  const width = Math.max(0, ...names.map(displayWidth));
  const lines = [
    ...documents.map((document) => ({ said: summary(document).join(' '), format: String })),
    ...failures.map(() => ({ said: 'failed', format: style.error })),
  ].map(({ said, format }, index) =>
    style.prose(said, { indent: 2, lead: `${pad(names[index] ?? '', width)}  `, format }),
  );
  return `${parts.join('\n')}\n${style.bold(plural(names.length, 'workspace'))}\n${lines.join('\n')}\n`;
}

/** One comment for all, of at most 65,536 characters: a table, what failed, then as much of each as there is room for. */
export function severalPlansMarkdown(
  { what, documents, failures }: SeveralPlans,
  { full }: { readonly full?: boolean | undefined } = {},
): string {
  const { markdown, summary } = words[what];
  const rows = [
    ...failures.map(({ workspace }) => `| ${markdownCode(workspace)} | **failed** |`),
    ...documents.map(
      (document) => `| ${markdownCode(document.workspace)} | ${markdownText(summary(document).join(' '))} |`,
    ),
  ];
  const heading = `## voxform ${what} for ${plural(rows.length, 'workspace')}`;
  let page = `${heading}\n\n| Workspace | ${what === 'plan' ? 'Plan' : 'Drift'} |\n| --- | --- |\n${rows.join('\n')}\n`;
  const failed = failures.map(failureMarkdown);
  for (const [index, block] of failed.entries()) {
    const room = (MARKDOWN_LIMIT - page.length) / (failed.length - index + documents.length);
    const short = `### ${markdownCode(failures[index]?.workspace ?? '')} failed\n\n_Too long to be shown here._`;
    page += `\n${block.length < room ? block : short}\n`;
  }
  for (const [index, document] of documents.entries()) {
    const limit = (MARKDOWN_LIMIT - page.length) / (documents.length - index) - 1;
    const command = `voxform ${what} --workspace ${document.workspace}`;
    page += `\n${markdown(document, { limit, command, full, workspaceFlag: flagOf(document) })}`;
  }
  return page;
}

/** What failed, then the annotations of each workspace, which their titles name. */
export function severalPlansGithub({ what, documents, failures }: SeveralPlans): string {
  const { github } = words[what];
  return [
    ...failures.map(failureGithub),
    ...documents.map((document) =>
      github(document, { workspace: document.workspace, workspaceFlag: flagOf(document) }),
    ),
  ].join('');
}
