import type { ApplyReport } from '../engine/apply/apply-report.ts';
import type { PlannedResource } from '../engine/plan/plan-document.ts';
import { commandFor, type Reach } from '../problems/workspace-command.ts';
import { actionWords, pendingActions } from './action-words.ts';
import { addressList } from './address-list.ts';
import {
  type AppliedWrite,
  appliedIn,
  applySummary,
  earlyEnd,
  leftIn,
  skippedIn,
  unrecordedStep,
} from './apply-words.ts';
import { escapeControls } from './escape-controls.ts';
import { sharedSteps } from './grouped-steps.ts';
import { commandOf, helpText, isTask, stepText } from './next-steps.ts';
import { renderShared, renderWarnings } from './remarks-text.ts';
import { paragraphs, type Style, section, sentences } from './style.ts';
import { displayWidth, pad } from './text-width.ts';

/** In columns: a longer address does not push the words after the others to the right. */
const widestAddress = 36;

/** What is said, and how. */
interface Wording {
  readonly style: Style;
  readonly full: boolean;
  readonly reach: Reach;
}

/** What an apply did and what it left: done, skipped, failed, what is up to a person, warnings, and a closing count. */
export function applyText(
  report: ApplyReport,
  style: Style,
  { full = false, reach }: { readonly full?: boolean | undefined; readonly reach?: Reach },
): string {
  const applied = appliedIn(report);
  const ended = earlyEnd(report);
  const wording = { style, full, reach };
  const alarming = (heading: string) => style.bold(style.error(heading));
  const failed = applied.flatMap((entry) => renderFailed(entry, wording));
  return paragraphs([
    renderDone(applied, wording),
    section(style.bold('Skipped'), renderSkipped(applied, wording)),
    section(alarming('Failed'), failed),
    section(alarming('Not recorded'), renderUnrecorded(applied, wording)),
    section(style.bold('Left to do'), renderLeft(leftIn(report), wording)),
    renderWarnings(report.warnings, style, { full, reach, applied: true }),
    ended === undefined ? '' : style.prose(ended, { format: style.warn }),
    closing(report, style),
  ]);
}

/** Of many updates and adoptions it is enough to know which; of everything else the id is told. */
const fewestTogether = 12;

/** A line each, in columns; of many that changed nothing but fields, a paragraph. */
function renderDone(applied: readonly AppliedWrite[], { style, full }: Wording): string {
  const done = applied.filter(({ result }) => result.status === 'done');
  const together = (['adopt', 'update'] as const).flatMap((action) => {
    const members = done.filter(({ resource }) => resource.action === action);
    return full || members.length < fewestTogether ? [] : [{ action, members }];
  });
  const lines = renderLines(
    done.filter(({ resource }) => !together.some(({ action }) => action === resource.action)),
    style,
  );
  const paragraphs = together.map(({ action, members }) => {
    const { symbol, done: word } = actionWords[action];
    const lead = `${style.action[action](pad(symbol, 3, 'right'))} ${members.length} ${word}:`;
    const names = members.map(({ resource }) => resource.address);
    return `${lead}\n${style.prose(addressList(names, false, { lists: '' }), { indent: 6 })}`;
  });
  return [lines, ...paragraphs].filter((part) => part !== '').join('\n');
}

function renderLines(done: readonly AppliedWrite[], style: Style): string {
  const rows = done.map(({ resource: { action, address, id }, result }) => ({
    ...actionWords[action],
    action,
    address: escapeControls(address),
    id: escapeControls((result.status === 'done' ? result.id : null) ?? id ?? ''),
  }));
  const widest = Math.min(widestAddress, Math.max(0, ...rows.map(({ address }) => displayWidth(address))));
  const longest = Math.max(0, ...rows.map(({ done: word }) => word.length));
  return rows
    .map(({ action, symbol, address, done: word, id }) => {
      const mark = style.action[action](pad(symbol, 3, 'right'));
      return `${mark} ${pad(address, widest)}  ${pad(word, longest)}  ${style.dim(id)}`.trimEnd();
    })
    .join('\n');
}

/** A paragraph for each reason. */
function renderSkipped(applied: readonly AppliedWrite[], { style, full, reach }: Wording): string[] {
  return skippedIn(applied).flatMap(({ because, addresses }) => {
    const lists = commandFor('voxform plan', reach);
    const said = full ? addresses : [addressList(addresses, false, { lists })];
    return said.map((who) => style.prose(`${who}: ${because}`, { indent: 2, lead: '- ' }));
  });
}

/** A command each, after what is true of all of them. */
function renderUnrecorded(applied: readonly AppliedWrite[], { style, reach }: Wording): string[] {
  const commands = applied.flatMap((entry) => {
    const step = unrecordedStep(entry);
    return step === undefined ? [] : [`    ${escapeControls(commandOf(step, reach))}`];
  });
  if (commands.length === 0) return [];
  const lead = 'The records exist. Once the state can be written again, for each that no rescue file holds:';
  return [style.prose(lead, { indent: 2 }), ...commands];
}

function renderFailed(entry: AppliedWrite, { style, reach }: Wording): string[] {
  const { resource, result } = entry;
  if (result.status !== 'failed' || unrecordedStep(entry) !== undefined) return [];
  const { address, source, url } = resource;
  const help = helpText(result, reach);
  const place = source === null ? '' : `  ${style.dim(`${escapeControls(source.file)}:${source.line}`)}`;
  return [
    `  ${style.error('x')} ${style.bold(escapeControls(address))}${place}`,
    style.prose(result.error, { indent: 4 }),
    ...(help === undefined ? [] : [style.prose(help, { indent: 4, lead: style.dim('hint: ') })]),
    ...linkLine(url),
  ];
}

/** What many need once, then the rest of each. */
function renderLeft(left: readonly PlannedResource[], wording: Wording): string[] {
  const { style, full, reach } = wording;
  const { shared, resources } = sharedSteps(left, { full, reach });
  const isOpen = ({ action, steps = [] }: PlannedResource) =>
    steps.length > 0 || pendingActions.some((each) => each === action);
  return [
    // Their tables stand in the plan above.
    ...shared.map(({ table: _, ...each }) => renderShared(each, style, { applied: { reach } })),
    ...resources.filter(isOpen).map((resource) => renderPending(resource, wording)),
  ];
}

function renderPending(resource: PlannedResource, { style, reach }: Wording): string {
  const { address, reason, url, steps = [] } = resource;
  const action = pendingActions.find((each) => each === resource.action) ?? 'manual';
  const { symbol, done } = actionWords[action];
  const isOpen = action === 'blocked' || action === 'unknown';
  const state = isOpen ? `  ${style.action[action](done)}` : '';
  const head = `${style.action[action](pad(symbol, 3, 'right'))} ${style.bold(escapeControls(address))}${state}`;
  const why = !isOpen && steps.length > 0 ? [] : [style.prose(reason, { indent: 4, format: style.dim })];
  const said = steps.map((step) =>
    style.prose(stepText(step, reach), { indent: 4, lead: isTask(step) ? '[ ] ' : '' }),
  );
  return [head, ...why, ...said, ...linkLine(url)].join('\n');
}

function linkLine(url: string | undefined): string[] {
  return url === undefined ? [] : [`    ${escapeControls(url)}`];
}

function closing(report: ApplyReport, style: Style): string {
  const failed = [...report.results.values()].some(({ status }) => status === 'failed');
  const color = failed ? style.error : report.interrupted === undefined ? style.good : style.warn;
  return sentences(applySummary(report), style, {
    format: (line) => style.bold(color(line)),
  });
}
