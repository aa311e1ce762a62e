export interface Bench {
  /** The path of the built command. */
  readonly bin: string;
  /** An empty folder for projects. */
  readonly folder: string;
  /** The number of measurements of each time. The row shows the median. */
  readonly rounds: number;
  /** Returns true if the group is measured. */
  wants(group: Group): boolean;
  emit(row: Row): void;
}

export const GROUPS = [
  'start',
  'validate',
  'plan',
  'apply',
  'export',
  'state',
  'watch',
  'lsp',
  'page',
  'growth',
  'impact',
  'fleet',
  'endurance',
  'million',
] as const;
export type Group = (typeof GROUPS)[number];

export interface Row {
  readonly what: string;
  readonly floor?: string;
  /** A value in `unit`. Default: seconds. */
  readonly floorValue?: number | undefined;
  readonly value: number;
  readonly unit?:
    | 's'
    | 'ms'
    | 'MiB'
    | 'requests'
    | '%'
    | 'µs each'
    | 'runs/s'
    | 'statements'
    | 'connections'
    | 'records'
    | 'workspaces'
    | 'times';
  /** The maximum ratio to the floor, or the maximum value if there is no floor. */
  readonly budget?: number | undefined;
}

/** Formats a row as a line of a Markdown table. */
export function rowText(row: Row): string {
  const { what, floor = '', floorValue, value, unit = 's', budget } = row;
  const measure = floorValue === undefined ? value : value / floorValue;
  const shown = floorValue === undefined ? '' : measure.toFixed(2);
  const verdict = budget === undefined ? '' : measure <= budget ? 'met' : `missed by ${percentOver(measure, budget)}`;
  const limit =
    budget === undefined ? '' : floorValue === undefined ? `${budget} ${unit}` : String(Number(budget.toFixed(2)));
  const floorText = floorValue === undefined ? floor : `${floor} ${figure(floorValue)} ${unit}`;
  return `| ${[what, floorText, `${figure(value)} ${unit}`, shown, limit, verdict].join(' | ')} |`;
}

/** Returns the maximum resident memory in MiB of a run with this many agents. */
export function memoryBudget(agents: number): number {
  return agents <= 10_000 ? 400 : 2048;
}

export const HEADER = '| what | floor | voxform | ratio | budget | |\n| --- | --- | --- | --- | --- | --- |';

function figure(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(3);
}

function percentOver(measure: number, budget: number): string {
  return `${((measure / budget - 1) * 100).toFixed(0)} %`;
}
