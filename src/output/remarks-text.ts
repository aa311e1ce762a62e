import type { PlanDocument, PlanWarning, Violation } from '../engine/plan/plan-document.ts';
import { nounOf } from '../manifests/resource.ts';
import { denials } from '../policies/waivers.ts';
import { positionText } from '../problems/diagnostic.ts';
import { commandFor, type WorkspaceSelection } from '../problems/workspace-command.ts';
import { type AddressListOptions, addressList } from './address-list.ts';
import {
  type Formats,
  MAX_NAMED,
  type SharedStep,
  type SharedStepOptions,
  type StepOwner,
  sharedStepText,
  withLinks,
} from './grouped-steps.ts';
import { guardText, wordedWarnings } from './next-steps.ts';
import { plural } from './plural.ts';
import { paragraphs, type Style, section } from './style.ts';
import { renderIndented } from './table.ts';

interface RemarkOptions {
  /** True to list every address of shared remarks. */
  readonly full: boolean;
  readonly selection: WorkspaceSelection;
  /** True after an apply, which cannot be repeated with an option such as --full. */
  readonly applied?: boolean;
  /** True to omit notes. */
  readonly quiet?: boolean | undefined;
}

/** Returns the remarks of a plan: notes on unchanged resources, guards, policy violations, and warnings. */
export function renderRemarks(plan: PlanDocument, style: Style, options: RemarkOptions): string {
  const notes = options.quiet ? [] : noteTexts(plan, options);
  const guards = plan.guards.map((guard) => style.prose(guardText(guard), { lead: `${style.error('x')} `, indent: 2 }));
  return paragraphs([
    section(
      style.bold('Notes'),
      notes.map((note) => style.prose(note, { indent: 2, lead: '- ' })),
    ),
    section(style.bold(style.error('Guards: apply refuses this plan')), guards),
    renderViolations(plan, style, options),
    renderWarnings(plan.warnings, style, options),
  ]).trimEnd();
}

/** Returns warnings under a heading. After an apply, omits warnings about erased fields, because the plan above contains them. */
export function renderWarnings(warnings: readonly PlanWarning[], style: Style, options: RemarkOptions): string {
  const { full, selection, applied = false } = options;
  const relevant = applied ? warnings.filter(({ may_erase: fields }) => fields === undefined) : warnings;
  const warningTexts = wordedWarnings(relevant, selection, { full, lists: '--full' });
  const lead = `${style.warn('!')} `;
  const lines = groupedRemarks(warningTexts, full, applied ? { lists: '' } : {}).map((text) =>
    style.prose(text, { indent: 2, lead }),
  );
  return section(style.bold(style.warn('Warnings')), lines);
}

export function renderShared(shared: SharedStep<StepOwner>, style: Style, options: SharedStepOptions = {}): string {
  const line = style.prose(sharedStepText(shared, options), { indent: 2, lead: '[ ] ' });
  if (shared.table === undefined) return line;
  const { titles, rows } = withLinks(shared.table, (url) => url);
  const last = shared.table.titles.length - 1;
  const columns = titles.map((title, index) => ({
    title: title.toUpperCase(),
    noWrap: index === 0 || index > last,
    ...(index === last && { dropOrder: 1 }),
  }));
  return `${line}\n${renderIndented(columns, rows, { style, indent: 6 })}`;
}

/** Returns notes on unchanged resources. Equal notes on publication are counted, followed by the command that lists the resources. */
export function noteTexts(
  { resources }: PlanDocument,
  { full, selection, ...formats }: GroupedOptions & { readonly full: boolean; readonly selection: WorkspaceSelection },
): string[] {
  const { text = String } = formats;
  const unchanged = resources.filter(({ action }) => action === 'noop');
  const ofNotices = unchanged.flatMap(({ address, kind, notices = [] }) =>
    notices.map((message) => ({ address, kind, message })),
  );
  const command = commandFor('voxform status --only unpublished', selection);
  const counted = [...Map.groupBy(ofNotices, ({ kind, message }) => `${kind} ${message}`).values()].flatMap(
    (sharing) => {
      const [{ kind, message } = { kind: '', message: '' }] = sharing;
      return full || sharing.length === 1
        ? groupedRemarks(sharing, full, formats)
        : [text(`${plural(sharing.length, nounOf(kind))}: ${message} (${command})`)];
    },
  );
  const released = unchanged.flatMap(({ address, released: paths = [] }) =>
    paths.length > 0 ? [{ address, message: `no longer managed: ${paths.join(', ')}` }] : [],
  );
  return [...counted, ...groupedRemarks(released, full, formats)];
}

interface GroupedOptions extends Formats, Pick<AddressListOptions, 'lists'> {}

/** Returns one string for each message, with its addresses first. */
export function groupedRemarks(
  remarks: readonly Pick<PlanWarning, 'address' | 'message'>[],
  full: boolean,
  { text = String, code = String, lists = '--full' }: GroupedOptions = {},
): string[] {
  return [...Map.groupBy(remarks, ({ message }) => message)].map(([message, sharing]) => {
    const addresses = sharing.flatMap(({ address }) => (address === null ? [] : [code(address)]));
    const names = addressList(addresses, full, {
      max: MAX_NAMED,
      lists: message.includes(lists) ? '' : lists,
    });
    return names === '' ? text(message) : `${names}: ${text(message)}`;
  });
}

/** The violations of one rule with the same message. */
export interface ViolationGroup {
  /** An apply refuses a plan with denied violations. */
  readonly status: 'denied' | 'waived' | 'warning';
  /** The rule and its message. Contains the file if several files have a rule with this name. */
  readonly text: string;
  readonly violations: readonly Violation[];
}

const ORDER = ['denied', 'waived', 'warning'] as const;

/** Groups violations by rule and message. Denied violations come first, then waived ones. */
export function violationGroups({ violations = [] }: Pick<PlanDocument, 'violations'>): readonly ViolationGroup[] {
  const groups = Map.groupBy(violations, ({ rule, policy_file, message, severity, waived }) =>
    JSON.stringify([rule, policy_file, message, severity, waived]),
  );
  return [...groups.values()]
    .flatMap((same): ViolationGroup[] => {
      const [first] = same;
      if (first === undefined) return [];
      const { rule, policy_file: file, message, waived } = first;
      const isOne = violations.every((each) => each.rule !== rule || each.policy_file === file);
      const text = `${rule}${isOne ? '' : ` (${file})`}: ${message}${waived === undefined ? '' : ` Waived: ${waived}`}`;
      return [{ status: statusOf(first), text, violations: same }];
    })
    .sort((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status));
}

function statusOf({ severity, waived }: Violation): ViolationGroup['status'] {
  if (waived !== undefined) return 'waived';
  return severity === 'deny' ? 'denied' : 'warning';
}

/** Returns a position such as `manifests/agents.yaml:12:7`, or an empty string if the resource has no manifest. */
export function violationPosition({ source }: Violation): string {
  return source === null ? '' : positionText(source);
}

/** Returns a string such as `Agent/a (manifests/agents.yaml:12:7)`. */
export function violationSubject(violation: Violation): string {
  const position = violationPosition(violation);
  return position === '' ? violation.address : `${violation.address} (${position})`;
}

/** The maximum number of resources to list. The others are only counted. */
const MAX_VIOLATIONS = 5;

/** Returns the violations to list, and the number of others. */
export function namedViolations({ violations }: ViolationGroup, full: boolean) {
  const named = full || violations.length <= MAX_VIOLATIONS + 1 ? violations : violations.slice(0, MAX_VIOLATIONS);
  return { named, more: violations.length - named.length };
}

/** Returns violations under a heading, or an empty string if there are none. */
export function renderViolations(document: PlanDocument, style: Style, { full }: { readonly full: boolean }): string {
  const marks = { denied: style.error('x'), waived: '-', warning: style.warn('!') };
  const blocks = violationGroups(document).map((group) => {
    const { named, more } = namedViolations(group, full);
    const lines = [...named.map(violationSubject), ...(more > 0 ? [`and ${more} more (--full lists them)`] : [])];
    return [
      style.prose(group.text, { lead: `${marks[group.status]} `, indent: 2 }),
      ...lines.map((line) => style.prose(line, { indent: 6 })),
    ].join('\n');
  });
  const isDenied = denials(document.violations).length > 0;
  const heading = isDenied ? style.error('Policies: apply refuses this plan') : 'Policies';
  return section(style.bold(heading), blocks);
}
