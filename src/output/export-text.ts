import type { MissedRecord } from '../runs/discover.ts';
import type { ManifestDrafts } from '../runs/export/drafts.ts';
import { usedSecrets } from '../runs/export/secret-names.ts';
import { listed } from './address-list.ts';
import { escapeControls } from './escape-controls.ts';
import { kindCounts } from './plural.ts';
import { bullets, paragraphs, type Style } from './style.ts';

interface ExportReport {
  /** The folder as the user typed it. */
  readonly folder: string;
  readonly drafts: ManifestDrafts;
  readonly missed: readonly MissedRecord[];
  readonly replaced: readonly string[];
  /** Other manifests that already exist. They may declare the same records. */
  readonly left: readonly string[];
  /** True to show every list in full. */
  readonly verbose: boolean;
}

/** Returns a summary of an export: the written files, the omitted parts with reasons, and the manual steps. */
export function exportText(report: ExportReport, style: Style): string {
  const { folder, drafts, missed, replaced, left, verbose } = report;
  const listing = (title: string, lines: readonly string[]) => {
    const more = lines.length - MAX_LISTED;
    const shown = [...lines.slice(0, MAX_LISTED), `and ${more} more (--verbose lists them)`];
    return bullets(title, verbose || more <= 0 ? lines : shown, style);
  };
  const counts = kindCounts(drafts.manifests);
  return paragraphs([
    `Exported to ${escapeControls(folder)}: ${counts === '' ? 'nothing was found' : counts}.`,
    listing('Overwritten', replaced.map(escapeControls)),
    listing('Already in the project, left unchanged', left.map(escapeControls)),
    listing('Not found or not readable', missedLines(missed)),
    bullets('Omitted: manifests cannot declare these records', missedLines(drafts.leftOut), style),
    listing('Omitted fields', omittedLines(drafts, verbose)),
    listing('Secrets to set before you plan', usedLines(drafts.manifests)),
    listing('Secrets that the platform does not show', secretLines(drafts)),
  ]);
}

const MAX_LISTED = 20;

/** Returns a line for each record that was not found or not readable. */
export function missedLines(missed: readonly MissedRecord[]): string[] {
  return missed.map(({ kind, id, because }) => `${kind}${id === undefined ? '' : ` ${id}`}: ${because}`);
}

/** Returns one line for all resources of a kind whose manifests omit the same field for the same reason. */
function omittedLines({ manifests }: ManifestDrafts, verbose: boolean): string[] {
  const totals = Map.groupBy(manifests, ({ kind }) => kind);
  const all = manifests.flatMap(({ kind, name, omitted }) =>
    omitted.map(({ path, because }) => ({ kind, address: `${kind}/${name}`, path, because })),
  );
  const groups = Map.groupBy(all, ({ kind, path, because }) => JSON.stringify([kind, path, because]));
  return [...groups.values()].flatMap((same) => {
    const [first] = same;
    if (first === undefined) return [];
    const { kind, path, because } = first;
    const isEvery = same.length > 1 && same.length === totals.get(kind)?.length;
    const addresses = same.map(({ address }) => address);
    const named = verbose ? addresses.join(', ') : listed(addresses, MAX_NAMED);
    return [`${path} of ${isEvery ? `every ${kind}` : named}: ${because}`];
  });
}

const MAX_NAMED = 3;

function usedLines(manifests: Parameters<typeof usedSecrets>[0]): string[] {
  return usedSecrets(manifests).map(({ name, places }) => {
    const used = places.map(({ path, address }) => `${path} of ${address}`);
    return `${name}: ${listed(used, 1)}`;
  });
}

function secretLines({ manifests }: ManifestDrafts): string[] {
  const lines = usedLines(manifests.map(({ kind, name, secrets }) => ({ kind, name, uses: secrets })));
  if (lines.length === 0) return [];
  return [
    'Some of these may be set on the platform. If so, uncomment the line in the manifest, and set the secret as in .env.example.',
    ...lines,
  ];
}
