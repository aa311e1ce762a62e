import type { PlannedResource } from '../engine/plan-document.ts';
import type { ApplyReport } from '../engine/report.ts';
import { actionWords, pendingActions } from './action-words.ts';
import { type Applied, appliedIn, applySummary, earlyEnd, leftIn } from './apply-words.ts';
import { renderWarnings } from './remarks-text.ts';
import { type Style, sentences } from './style.ts';
import { displayWidth, pad } from './text-width.ts';
import { visible } from './visible.ts';

/** In columns: a longer address does not push the words after the others to the right. */
const widestAddress = 36;

/** What an apply did and what it left: done, skipped, failed, what is up to a person, warnings, and a closing count. */
export function renderApply(report: ApplyReport, style: Style): string {
  const applied = appliedIn(report);
  const ended = earlyEnd(report);
  const parts = [
    renderDone(applied, style),
    list(
      'Skipped',
      applied.flatMap((entry) => renderSkipped(entry, style)),
      style.bold,
    ),
    list(
      'Failed',
      applied.flatMap((entry) => renderFailed(entry, style)),
      (text) => style.bold(style.error(text)),
    ),
    list(
      'Left to do',
      leftIn(report).map((resource) => renderPending(resource, style)),
      style.bold,
    ),
    renderWarnings(report.warnings, style, { verbose: false }),
    ended === undefined ? '' : style.prose(ended, { format: style.warn }),
    closing(report, style),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

/** A line each, in columns. */
function renderDone(applied: readonly Applied[], style: Style): string {
  const rows = applied.flatMap(({ resource, result }) => {
    if (result.status !== 'done') return [];
    const { symbol, done } = actionWords[resource.action];
    const mark = style.action[resource.action](pad(symbol, 3, 'right'));
    return [{ mark, address: visible(resource.address), done, id: visible(result.id ?? resource.id ?? '') }];
  });
  const widest = Math.min(widestAddress, Math.max(0, ...rows.map(({ address }) => displayWidth(address))));
  const longest = Math.max(0, ...rows.map(({ done }) => done.length));
  return rows
    .map(({ mark, address, done, id }) =>
      `${mark} ${pad(address, widest)}  ${pad(done, longest)}  ${style.dim(id)}`.trimEnd(),
    )
    .join('\n');
}

function renderSkipped({ resource, result }: Applied, style: Style): string[] {
  if (result.status !== 'skipped') return [];
  return [style.prose(`${resource.address}: ${result.because}`, { indent: 2, lead: '- ' })];
}

function renderFailed({ resource, result }: Applied, style: Style): string[] {
  if (result.status !== 'failed') return [];
  const { address, source } = resource;
  const place = source === null ? '' : `  ${style.dim(`${visible(source.file)}:${source.line}`)}`;
  return [
    `  ${style.error('x')} ${style.bold(visible(address))}${place}`,
    style.prose(result.error, { indent: 4 }),
    ...(result.hint === undefined
      ? []
      : [style.prose(result.hint, { indent: 4, lead: style.dim('hint: ') })]),
  ];
}

function renderPending(resource: PlannedResource, style: Style): string {
  const { address, reason, steps = [] } = resource;
  const action = pendingActions.find((each) => each === resource.action) ?? 'manual';
  const { symbol, done } = actionWords[action];
  const isOpen = action === 'blocked' || action === 'unknown';
  const state = isOpen ? `  ${style.action[action](done)}` : '';
  const head = `${style.action[action](pad(symbol, 3, 'right'))} ${style.bold(visible(address))}${state}`;
  const why = !isOpen && steps.length > 0 ? [] : [style.prose(reason, { indent: 4, format: style.dim })];
  return [head, ...why, ...steps.map((step) => style.prose(step, { indent: 4, lead: '[ ] ' }))].join('\n');
}

function closing(report: ApplyReport, style: Style): string {
  const failed = [...report.results.values()].some(({ status }) => status === 'failed');
  const color = failed ? style.error : report.interrupted === undefined ? style.good : style.warn;
  return sentences(applySummary(report), style, {
    format: (line) => style.bold(color(line)),
  });
}

function list(heading: string, lines: readonly string[], format: (heading: string) => string): string {
  return lines.length === 0 ? '' : [format(heading), ...lines].join('\n');
}
