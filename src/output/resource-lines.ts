import type { Action } from '../engine/plan/plan-actions.ts';
import type { PlannedResource } from '../engine/plan/plan-document.ts';
import { escapeControls } from './escape-controls.ts';
import type { Format, Style } from './style.ts';
import { displayWidth, pad } from './text-width.ts';

/** Columns before an address, and before what is said of its resource. */
export const symbolWidth = 3;
export const detailIndent = 6;

export interface ResourceMark {
  readonly symbol: string;
  /** Whose colour the symbol has. */
  readonly colorOf: Action;
}

/** What is said of a resource, told from its fields by the mark that begins a comment in a manifest. */
export function renderRemark(text: string, style: Style, format: Format = style.dim): string {
  return style.prose(text, { indent: detailIndent, lead: format('# '), format });
}

/** Symbol, address, marks, id and source; what does not fit on a line of its own. */
export function headLine(resource: PlannedResource, { symbol, colorOf }: ResourceMark, style: Style): string {
  const { action, address, id, url, source, adopted, previous_address: previous } = resource;
  const color = style.action[colorOf];
  const marks = [
    adopted && action !== 'adopt' ? 'adopted' : undefined,
    previous === undefined ? undefined : `was ${escapeControls(previous)}`,
  ].filter((mark) => mark !== undefined);
  const rest = [
    ...(marks.length === 0 ? [] : [color(`(${marks.join(', ')})`)]),
    ...(id === null ? [] : [style.dim(escapeControls(id))]),
    ...(source === null ? [] : [style.dim(`${escapeControls(source.file)}:${source.line}`)]),
    ...(url === undefined ? [] : [escapeControls(url)]),
  ];
  const lines = [`${color(pad(symbol, symbolWidth, 'right'))} ${style.bold(escapeControls(address))}`];
  for (const part of rest) {
    const longer = `${lines.at(-1)}  ${part}`;
    if (displayWidth(longer) <= style.width) lines.splice(-1, 1, longer);
    else lines.push(' '.repeat(detailIndent) + part);
  }
  return lines.join('\n');
}

export function renderStep(step: string, style: Style): string {
  return style.prose(step, { indent: detailIndent, lead: '[ ] ' });
}
