import { recordUrl } from '../engine/plan/dashboard-links.ts';
import type { PlanDocument } from '../engine/plan/plan-document.ts';
import { idKey, kindOf } from '../manifests/resource.ts';
import type { NextStep } from '../problems/next-step.ts';
import { UNCONFIRMED_CREATE_STEPS } from '../problems/unconfirmed-steps.ts';
import type { WorkspaceSelection } from '../problems/workspace-command.ts';
import type { MissedRecord } from '../runs/discover.ts';
import { keyFieldOf, type Match, type MatchCandidate } from '../runs/recover/matches.ts';
import { addressList, listed } from './address-list.ts';
import { missedLines } from './export-text.ts';
import { commandOf, withSteps } from './next-steps.ts';
import { plural } from './plural.ts';
import { bullets, paragraphs, type Style, section } from './style.ts';
import { noWrapColumns, renderTable } from './table.ts';

/** The minimum number of resources for a table. */
const MIN_LISTED = 12;

const CERTAIN = 'Certain: all shown fields match, and no other record or manifest matches';

/** Returns the matches between manifests and records, with evidence. */
export function recoverText(matches: readonly Match[], style: Style): string {
  const certain = matches.filter((match) => match.certain !== undefined);
  const likely = matches.filter(({ certain: one, candidates }) => one === undefined && candidates.length > 0);
  const titled = (title: string, { length }: readonly Match[]) => style.bold(`${title} (${length}):`);
  return paragraphs([
    section(titled(CERTAIN, certain), (certain.length < MIN_LISTED ? listOf : tablesOf)(certain, style)),
    section(titled('Likely or ambiguous', likely), listOf(likely, style)),
  ]);
}

function listOf(matches: readonly Match[], style: Style): string[] {
  return matches.flatMap(({ resource, candidates, certain }) => [
    style.prose(`${resource.address}  ${resource.source.file}:${resource.source.line}`, { indent: 2 }),
    ...(certain === undefined ? candidates : [certain]).map((candidate) =>
      style.prose(`${candidate.id}: ${evidenceText(candidate)}`, { indent: 4, lead: '- ' }),
    ),
  ]);
}

/** Returns the certain matches as tables, one for each kind of evidence. */
function tablesOf(matches: readonly Match[], style: Style): string[] {
  const evidenceOf = ({ certain }: Match) => (certain === undefined ? '' : evidenceText(certain));
  return [...Map.groupBy(matches, evidenceOf)].map(([evidence, same]) => {
    const rows = same.map(({ resource, certain }) => [resource.address, certain?.id ?? '']);
    const table = renderTable(noWrapColumns('ADDRESS', 'ID'), rows, style).trimEnd();
    return `${style.prose(`${evidence}:`, { indent: 2 })}\n${table}`;
  });
}

const MAX_NAMED = 4;

/** Returns the evidence, such as `7 of 8 shown fields match; different: name; number +1… is linked to it`. */
export function evidenceText({ agrees, differs, clauses }: MatchCandidate): string {
  const shown = agrees.length + differs.length;
  const fields =
    shown === 0
      ? 'the platform returns no field of the manifest'
      : differs.length === 0
        ? `all shown fields match: ${listed(agrees, MAX_NAMED)}`
        : `${agrees.length} of ${plural(shown, 'shown field')} match; different: ${listed(differs, MAX_NAMED)}`;
  return [fields, ...clauses].join('; ');
}

interface LinkContext extends Pick<PlanDocument, 'dashboard'> {
  readonly selection: WorkspaceSelection;
}

export interface RecoverResult extends LinkContext {
  /** The ids of imported records by address. */
  readonly taken: ReadonlyMap<string, string>;
  /** The addresses of resources whose candidates the user declined. */
  readonly declined: ReadonlySet<string>;
  readonly matches: readonly Match[];
  /** The addresses of resources with an unknown create. */
  readonly unanswered: readonly string[];
  readonly missed: readonly MissedRecord[];
}

/** Returns the number of imported records, and the remaining manual steps. */
export function recoveredText(
  { taken, declined, matches, unanswered, missed, selection, dashboard }: RecoverResult,
  style: Style,
): string {
  const open = matches.filter(({ resource: { address } }) => !taken.has(address) && !unanswered.includes(address));
  const used = new Set([...taken].map(([address, id]) => idKey(kindOf(address), id)));
  const foundByField = open.filter((match) => keyFieldOf(match) !== undefined);
  const others = open.filter((match) => keyFieldOf(match) === undefined);
  const offeredRows = others.flatMap(({ resource: { address, kind }, candidates }) => {
    const ids = candidates.map(({ id }) => id).filter((id) => !used.has(idKey(kind, id)));
    return declined.has(address) || ids.length === 0 ? [] : [[address, ids.join(', ')]];
  });
  const unmatched = others.filter(({ resource }) => !offeredRows.some(([address]) => address === resource.address));
  const notes = [
    ...unansweredNotes(unanswered, { selection, dashboard }),
    ...unmatchedNotes(addressesOf(unmatched), { selection, dashboard }),
    ...[...Map.groupBy(foundByField, keyFieldOf)].map(([field, some]) => {
      const pronoun = some.length === 1 ? 'it' : 'them';
      return `${namesIn(addressesOf(some))}: the next plan looks for ${pronoun} by ${field}.`;
    }),
  ];
  const hints = unmatched.length === 0 ? [] : missedLines(missed);
  return paragraphs([
    `${plural(taken.size, 'record')} imported.${taken.size === 0 ? '' : ' Run plan to see how they differ.'}`,
    offeredText(offeredRows, selection, style),
    bullets('Unresolved', notes, style),
    bullets('Not found or not readable', hints.slice(0, MAX_HINTS), style),
  ]);
}

function addressesOf(matches: readonly Match[]): string[] {
  return matches.map(({ resource }) => resource.address);
}

/** Returns a table of the resources whose candidates were neither imported nor declined. */
function offeredText(rows: readonly (readonly string[])[], selection: WorkspaceSelection, style: Style): string {
  if (rows.length === 0) return '';
  const command = commandOf({ action: 'import', address: 'ADDRESS', id: null, reason: 'found' }, selection);
  return [
    style.bold(`Undecided (${rows.length}):`),
    renderTable([...noWrapColumns('ADDRESS'), 'CANDIDATES'], rows, style).trimEnd(),
    style.prose(`Run recover again, or ${command}. Until then, apply would create duplicates.`),
  ].join('\n');
}

function unansweredNotes(addresses: readonly string[], { selection, dashboard }: LinkContext): string[] {
  if (addresses.length < MIN_LISTED) {
    return addresses.map((address) => {
      const steps: NextStep[] = [
        { action: 'import', address, id: null, reason: 'found' },
        { action: 'resolve_not_created', address },
      ];
      return withSteps(`${address}: unknown create.`, { steps, url: listUrl(address, dashboard) }, selection);
    });
  }
  return [...Map.groupBy(addresses, kindOf)].map(([, some]) => {
    const url = listUrl(some[0] ?? '', dashboard);
    const sentence = `${addressList(some, false, { lists: '--output json' })}: unknown creates.`;
    return withSteps(sentence, { steps: UNCONFIRMED_CREATE_STEPS, url }, selection);
  });
}

/** Returns the URL of the dashboard's list of records of the same kind. */
function listUrl(address: string, dashboard: PlanDocument['dashboard']): string | undefined {
  return recordUrl({ dashboard }, { kind: kindOf(address), id: null });
}

/** Returns a note for each kind of resource without a match. */
function unmatchedNotes(addresses: readonly string[], { selection, dashboard }: LinkContext): string[] {
  return [...Map.groupBy(addresses, kindOf).values()].map((some) => {
    const [first = '', ...others] = some;
    const url = listUrl(first, dashboard);
    const [address, pronoun, creates] =
      others.length === 0
        ? [first, 'it', 'creates it, as a duplicate if it exists']
        : ['ADDRESS', 'one', 'creates them, as duplicates if they exist'];
    const command = commandOf({ action: 'import', address, id: null, reason: 'found' }, selection);
    return `${namesIn(some)}: if you find ${pronoun} in the dashboard${url === undefined ? '' : ` (${url})`}: ${command}. Otherwise apply ${creates}.`;
  });
}

/** Returns a list of addresses. A long list is shortened; the JSON output contains all addresses. */
function namesIn(addresses: readonly string[]): string {
  const names = addressList(addresses, false, { lists: '--output json' });
  return addresses.length < MIN_LISTED ? names : `${addresses.length} not found: ${names}`;
}

const MAX_HINTS = 20;

export function recoverJson({ taken, matches, unanswered, missed, dashboard }: RecoverResult): object {
  const resources = matches.map(({ resource: { address, kind }, candidates, certain }) => {
    const id = taken.get(address) ?? null;
    return {
      address,
      taken: id,
      certain: certain?.id ?? null,
      url: recordUrl({ dashboard }, { kind, id }),
      candidates: candidates.map(({ id, isExact: exact, agrees, differs, clauses: evidence }) => ({
        ...{ id, exact, agrees, differs, evidence },
      })),
    };
  });
  return { resources, unanswered, missed };
}
