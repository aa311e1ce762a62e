import type { PlannedResource } from '../engine/plan/plan-document.ts';
import type { Reach } from '../problems/workspace-command.ts';
import { escapeControls } from './escape-controls.ts';
import { isTask, stepText } from './next-steps.ts';
import { plural } from './plural.ts';
import { type ResourceMark, renderRemark, renderStep } from './resource-lines.ts';
import type { Style } from './style.ts';
import { tableLayout } from './table.ts';
import { pad } from './text-width.ts';

/** In columns: the symbol and the blank after it. */
const margin = 4;

interface ListStyle {
  readonly style: Style;
  readonly reach: Reach;
  /** Whether the reason is said. */
  says(resource: PlannedResource): boolean;
}

/** A line for each resource, in columns; what is to be known or done of one of them below its line. */
export function renderList(
  resources: readonly PlannedResource[],
  { symbol, colorOf }: ResourceMark,
  { style, says, reach }: ListStyle,
): string {
  const rows = resources.map((resource) => ({ resource, cells: cellsOf(resource) }));
  const isFilled = [0, 1, 2].map((column) => rows.some(({ cells }) => cells[column] !== ''));
  const shown = (cells: readonly string[]) => cells.filter((_, column) => isFilled[column]);
  const [address, id, differs] = [
    { title: 'ADDRESS', whole: true },
    { title: 'ID', whole: true },
    { title: isFilled[1] ? 'DIFFERS' : 'SETS', prose: true },
  ];
  const columns = [address, id, differs].filter((_, column) => isFilled[column]);
  const layout = tableLayout(
    columns.flatMap((column) => column ?? []),
    rows.map(({ cells }) => shown(cells)),
    { ...style, width: style.width - margin },
  );
  const inFrom = (lines: string) => lines.replaceAll('\n', `\n${' '.repeat(margin)}`);
  const mark = style.action[colorOf](pad(symbol, margin - 1, 'right'));
  const below = ({ steps = [], notices = [], ...resource }: PlannedResource): string[] => [
    ...(says(resource) && resource.reason !== '' ? [renderRemark(resource.reason, style)] : []),
    ...notices.map((notice) => renderRemark(notice, style, style.warn)),
    ...steps.map((step) => (isTask(step) ? renderStep : renderRemark)(stepText(step, reach), style)),
  ];
  const lines = rows.map(({ resource, cells }) =>
    [`${mark} ${inFrom(layout.line(shown(cells)))}`, ...below(resource)].join('\n'),
  );
  const hint = isFilled[2] ? [renderRemark('--full shows every field', style)] : [];
  return [`${' '.repeat(margin)}${inFrom(layout.titles)}`, ...lines, ...hint].join('\n');
}

/** Address, id, and how it differs; of a new record how much is set. */
function cellsOf({ address, id, changes, previous_address: previous }: PlannedResource): readonly string[] {
  const was = previous === undefined ? '' : `was ${previous}; `;
  const paths = id === null ? plural(changes.length, 'field') : changes.map(({ path }) => path).join(', ');
  return [address, id ?? '', was + paths].map(escapeControls);
}
