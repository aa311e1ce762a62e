import type { PlanDocument, Violation } from '../engine/plan/plan-document.ts';
import { denials } from '../policies/waivers.ts';
import { type Style, section } from './style.ts';

/** What one rule objects to for one reason. */
export interface ViolationGroup {
  /** Whether it stops apply, warns, or was waived. */
  readonly standing: 'denied' | 'waived' | 'warning';
  /** `calls-end: Calls must end after half an hour.`, with the file where several have a rule of that name. */
  readonly said: string;
  readonly violations: readonly Violation[];
}

const ORDER = ['denied', 'waived', 'warning'] as const;

/** What stops apply comes first. */
export function violationGroups({
  violations = [],
}: Pick<PlanDocument, 'violations'>): readonly ViolationGroup[] {
  const groups = Map.groupBy(violations, ({ rule, policy_file, message, severity, waived }) =>
    JSON.stringify([rule, policy_file, message, severity, waived]),
  );
  return [...groups.values()]
    .flatMap((ofOne): ViolationGroup[] => {
      const [first] = ofOne;
      if (first === undefined) return [];
      const { rule, policy_file: file, message, waived } = first;
      const isOne = violations.every((each) => each.rule !== rule || each.policy_file === file);
      const said = `${rule}${isOne ? '' : ` (${file})`}: ${message}${waived === undefined ? '' : ` Waived: ${waived}`}`;
      return [{ standing: standingOf(first), said, violations: ofOne }];
    })
    .sort((a, b) => ORDER.indexOf(a.standing) - ORDER.indexOf(b.standing));
}

function standingOf({ severity, waived }: Violation): ViolationGroup['standing'] {
  if (waived !== undefined) return 'waived';
  return severity === 'deny' ? 'denied' : 'warning';
}

/** `manifests/agents.yaml:12:7`; empty where no manifest declares the resource. */
export function violationPlace({ source }: Violation): string {
  return source === null
    ? ''
    : [source.file, source.line, source.column].filter((part) => part !== undefined).join(':');
}

/** `Agent/a (manifests/agents.yaml:12:7)` */
export function violationSubject(violation: Violation): string {
  const place = violationPlace(violation);
  return place === '' ? violation.address : `${violation.address} (${place})`;
}

/** How many resources are named before the rest is counted. */
const NAMED_VIOLATIONS = 5;

/** `…` and `and 3 more`. */
export function namedViolations(
  { violations }: ViolationGroup,
  full: boolean,
): {
  readonly named: readonly Violation[];
  readonly more: number;
} {
  const named =
    full || violations.length <= NAMED_VIOLATIONS + 1 ? violations : violations.slice(0, NAMED_VIOLATIONS);
  return { named, more: violations.length - named.length };
}

/** Under a heading; empty where no rule objects. */
export function renderViolations(
  document: PlanDocument,
  style: Style,
  { full }: { readonly full: boolean },
): string {
  const marks = { denied: style.error('x'), waived: '-', warning: style.warn('!') };
  const blocks = violationGroups(document).map((group) => {
    const { named, more } = namedViolations(group, full);
    const lines = [
      ...named.map(violationSubject),
      ...(more > 0 ? [`and ${more} more (--full lists them)`] : []),
    ];
    return [
      style.prose(group.said, { lead: `${marks[group.standing]} `, indent: 2 }),
      ...lines.map((line) => style.prose(line, { indent: 6 })),
    ].join('\n');
  });
  const isDenied = denials(document.violations).length > 0;
  const heading = isDenied ? style.error('Policies: apply refuses this plan') : 'Policies';
  return section(style.bold(heading), blocks);
}
