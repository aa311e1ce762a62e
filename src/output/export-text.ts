import type { ManifestDrafts } from '../runs/export/drafts.ts';
import { usedSecrets } from '../runs/export/used-secrets.ts';
import type { Missed } from '../runs/mentioned-ids.ts';
import { escapeControls } from './escape-controls.ts';
import { kindCounts } from './plural.ts';
import type { Style } from './style.ts';

interface ExportReport {
  /** As the person wrote it. */
  readonly folder: string;
  readonly drafts: ManifestDrafts;
  readonly missed: readonly Missed[];
  /** Files that were there and were written over. */
  readonly replaced: readonly string[];
  /** Manifests that were there under other names and stay: they may declare the same records. */
  readonly left: readonly string[];
  /** True: every list in full. */
  readonly verbose: boolean;
}

/** What was written, what was left out and why, and what a person must still do. */
export function exportText(report: ExportReport, style: Style): string {
  const { folder, drafts, missed, replaced, left, verbose } = report;
  const listing = (title: string, lines: readonly string[]) => section(title, cut(lines, verbose), style);
  const counts = kindCounts(drafts.manifests);
  const sections = [
    `Exported to ${escapeControls(folder)}: ${counts === '' ? 'nothing was found' : counts}.`,
    listing('Overwritten', replaced.map(escapeControls)),
    listing('Already in the project, left unchanged', left.map(escapeControls)),
    listing('Not found or not readable', missedLines(missed)),
    section('Left out: no manifest can declare them', drafts.leftOut.map(leftOutLine), style),
    listing('Fields left out', omittedLines(drafts, verbose)),
    listing('Secrets to set before you plan', usedLines(drafts)),
    listing('Secrets that the platform does not show', secretLines(drafts)),
  ];
  return `${sections.filter((each) => each !== '').join('\n\n')}\n`;
}

function section(title: string, lines: readonly string[], style: Style): string {
  if (lines.length === 0) return '';
  return [style.bold(`${title}:`), ...lines.map((line) => style.prose(line, { indent: 2, lead: '- ' }))].join(
    '\n',
  );
}

const MOST_LISTED = 20;

function missedLines(missed: readonly Missed[]): string[] {
  return missed.map(({ kind, id, because }) => `${kind}${id === undefined ? '' : ` ${id}`}: ${because}`);
}

function leftOutLine({ kind, id, because }: ManifestDrafts['leftOut'][number]): string {
  return `${kind} ${id}: ${because}`;
}

/** One line for all resources of a kind that miss the same field for the same reason. */
function omittedLines({ manifests }: ManifestDrafts, verbose: boolean): string[] {
  const groups = new Map<string, string[]>();
  const totals = new Map<string, number>();
  for (const { kind, name, omitted } of manifests) {
    totals.set(kind, (totals.get(kind) ?? 0) + 1);
    for (const { path, because } of omitted) {
      const key = JSON.stringify([kind, path, because]);
      const names = groups.get(key) ?? [];
      names.push(name);
      groups.set(key, names);
    }
  }
  return [...groups].map(([key, names]) => {
    const [kind = '', path = '', because = ''] = JSON.parse(key) as string[];
    const whose =
      names.length === totals.get(kind) && names.length > 1
        ? `every ${kind}`
        : addresses(kind, names, verbose);
    return `${path} of ${whose}: ${because}`;
  });
}

const MOST_NAMED = 3;

function addresses(kind: string, names: readonly string[], verbose: boolean): string {
  const shown = verbose ? names : names.slice(0, MOST_NAMED);
  const more = names.length - shown.length;
  const named = shown.map((name) => `${kind}/${name}`);
  return `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function usedLines({ manifests }: ManifestDrafts): string[] {
  return usedSecrets(manifests).map(({ name, places }) => {
    const [first, ...more] = places.map(({ path, address }) => `${path} of ${address}`);
    return `${name}: ${first}${more.length === 0 ? '' : ` and ${more.length} more`}`;
  });
}

function secretLines({ manifests }: ManifestDrafts): string[] {
  const lines = manifests.flatMap(({ kind, name: resource, secrets }) =>
    secrets.map(({ path, name }) => `${name}: ${path} of ${kind}/${resource}`),
  );
  if (lines.length === 0) return [];
  return [
    'Some of these may be set on the platform. For each that is: uncomment the line in the manifest and set the secret as .env.example says.',
    ...lines,
  ];
}

function cut(lines: readonly string[], verbose: boolean): string[] {
  const more = lines.length - MOST_LISTED;
  return verbose || more <= 0
    ? [...lines]
    : [...lines.slice(0, MOST_LISTED), `and ${more} more (--verbose lists them)`];
}
