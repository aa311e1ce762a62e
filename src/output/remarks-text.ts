import type { PlanDocument, PlanWarning } from '../engine/plan/plan-document.ts';
import type { Reach } from '../problems/workspace-command.ts';
import { addressList, type NamedOptions } from './address-list.ts';
import {
  type Formats,
  type SharedStep,
  type SharedStepOptions,
  type StepOwner,
  sharedStepText,
} from './grouped-steps.ts';
import { guardText, wordedWarnings } from './next-steps.ts';
import { paragraphs, type Style, section } from './style.ts';
import { renderTable } from './table.ts';
import { renderViolations } from './violation-words.ts';

interface RemarkOptions {
  /** Names every address where a remark holds for many. */
  readonly full: boolean;
  readonly reach: Reach;
  /** True where the run is over, so that no option of it lists anything. */
  readonly applied?: boolean;
}

/** What a plan says besides its changes: notes on unchanged resources, guards and policies that would stop an apply, and warnings. */
export function renderRemarks(plan: PlanDocument, style: Style, options: RemarkOptions): string {
  return paragraphs([
    section(style.bold('Notes'), renderAll(noopNotes(plan), style, { ...options, lead: '- ' })),
    renderGuards(plan, style),
    renderViolations(plan, style, options),
    renderWarnings(plan.warnings, style, options),
  ]).trimEnd();
}

/** Warnings under a heading; empty where there are none. */
export function renderWarnings(
  warnings: readonly PlanWarning[],
  style: Style,
  options: RemarkOptions,
): string {
  const said = wordedWarnings(warnings, options.reach, options.full || options.applied === true);
  const lines = renderAll(said, style, { ...options, lead: `${style.warn('!')} ` });
  return section(style.bold(style.warn('Warnings')), lines);
}

/** Manual steps of many resources, once each. */
export function renderSteps(shared: readonly SharedStep[], style: Style): string {
  const lines = shared.map((each) => renderShared(each, style));
  return section(style.bold('Manual steps'), lines);
}

export function renderShared(
  shared: SharedStep<StepOwner>,
  style: Style,
  options: SharedStepOptions = {},
): string {
  const indent = 2;
  const line = style.prose(sharedStepText(shared, options), { indent, lead: '[ ] ' });
  if (shared.table === undefined) return line;
  const { rows: plain, urls } = shared.table;
  const titles = urls === undefined ? shared.table.titles : [...shared.table.titles, 'link'];
  const rows = plain.map((cells, index) => [...cells, ...(urls === undefined ? [] : [urls[index] ?? ''])]);
  const last = shared.table.titles.length - 1;
  const columns = titles.map((title, index) => ({
    title: title.toUpperCase(),
    whole: index === 0 || index > last,
    ...(index === last && { spare: 1 }),
  }));
  const margin = ' '.repeat(indent + 4);
  const table = renderTable(columns, rows, { ...style, width: style.width - margin.length });
  return `${line}\n${table.trimEnd().replace(/^(?=.)/gm, margin)}`;
}

function renderGuards({ guards }: PlanDocument, style: Style): string {
  const lines = guards.map((guard) =>
    style.prose(guardText(guard), { lead: `${style.error('x')} `, indent: 2 }),
  );
  return section(style.bold(style.error('Guards: apply refuses this plan')), lines);
}

/** What is to be known of resources that stay as they are. */
export function noopNotes({ resources }: PlanDocument): PlanWarning[] {
  return resources
    .filter(({ action }) => action === 'noop')
    .flatMap(({ address, notices = [], released = [] }) => [
      ...notices.map((message) => ({ address, message })),
      ...(released.length > 0 ? [{ address, message: `no longer managed: ${released.join(', ')}` }] : []),
    ]);
}

interface GroupedOptions extends Formats, Pick<NamedOptions, 'lists'> {}

/** One text a message, with the addresses that it holds for before it. */
export function groupedRemarks(
  remarks: readonly PlanWarning[],
  full: boolean,
  { text = String, code = String, lists = '--full' }: GroupedOptions = {},
): string[] {
  return [...Map.groupBy(remarks, ({ message }) => message)].map(([message, sharing]) => {
    const addresses = sharing.flatMap(({ address }) => (address === null ? [] : [code(address)]));
    const who = addressList(addresses, full, { lists });
    return who === '' ? text(message) : `${who}: ${text(message)}`;
  });
}

function renderAll(
  remarks: readonly PlanWarning[],
  style: Style,
  { full, lead, applied }: RemarkOptions & { readonly lead: string },
): string[] {
  return groupedRemarks(remarks, full, applied ? { lists: '' } : {}).map((said) =>
    style.prose(said, { indent: 2, lead }),
  );
}
