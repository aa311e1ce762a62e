import type { PlanDocument } from '../engine/plan/plan-document.ts';
import { driftGroups, driftSummary } from './drift-words.ts';
import { createSecretNumbers } from './field-view.ts';
import { type PlanTextOptions, renderHeading } from './plan-text.ts';
import { renderRemarks } from './remarks-text.ts';
import { renderGroup } from './resource-text.ts';
import { type Style, sentences } from './style.ts';

/** What `driftOf` found, for a person to read: each field from what the manifest says to what the platform has. */
export function renderDriftText(
  drift: PlanDocument,
  style: Style,
  { verbose = false, headed = false, full = verbose, workspaceFlag = '' }: PlanTextOptions = {},
): string {
  const views = { secrets: createSecretNumbers(), verbose, towards: 'platform' as const };
  const groups = driftGroups(drift.resources);
  const body = [
    ...groups.map((group) => renderGroup(group, { style, views, full })),
    renderRemarks(drift, style, { full, workspaceFlag }),
  ].filter((part) => part !== '');
  const heading = body.length === 0 && !headed ? [] : [renderHeading(drift, style)];
  const isClean = groups.every(({ resources }) => resources.length === 0);
  const closing = sentences(driftSummary(drift), style, { format: isClean ? style.good : style.bold });
  return `${[...heading, ...body, closing].join('\n\n')}\n`;
}
