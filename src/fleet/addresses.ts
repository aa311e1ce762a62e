import type { FleetMode } from './member.ts';

/** How the workspaces are treated whose address matches. */
export interface FleetRule {
  /** An address, in which `*` stands for any text. */
  readonly pattern: string;
  readonly mode: FleetMode;
  /** Milliseconds. */
  readonly interval: number;
  readonly onDrift: 'pull-request' | undefined;
}

/** `SOURCE/PROJECT:WORKSPACE`; a project at the root of its source goes without `/PROJECT`. */
export function fleetAddress(source: string, project: string, workspace: string): string {
  return `${projectAddress(source, project)}:${workspace}`;
}

export function projectAddress(source: string, project: string): string {
  return project === '.' ? source : `${source}/${project}`;
}

/** The first rule that matches; undefined where none does. */
export function ruleFor<Rule extends Pick<FleetRule, 'pattern'>>(
  rules: readonly Rule[],
  address: string,
): Rule | undefined {
  return rules.find(({ pattern }) => matchesAddress(pattern, address));
}

/** The rules that are the first match of no address. */
export function unusedRules<Rule extends Pick<FleetRule, 'pattern'>>(
  rules: readonly Rule[],
  addresses: Iterable<string>,
): Rule[] {
  const used = new Set<Rule | undefined>();
  for (const address of addresses) used.add(ruleFor(rules, address));
  return rules.filter((rule) => !used.has(rule));
}

/** Whether all that a pattern matches is matched by one before it: a `*` in it is matched by a `*` alone. */
export function isCovered(pattern: string, earlier: string): boolean {
  return matchesAddress(earlier, pattern);
}

/** The source that a pattern names; undefined where that is not fixed. */
export function sourceIn(pattern: string): string | undefined {
  const [name = ''] = pattern.split(/[/:]/, 1);
  return name.includes('*') ? undefined : name;
}

export function matchesAddress(pattern: string, address: string): boolean {
  const parts = pattern.split('*');
  const [first = '', ...rest] = parts;
  if (rest.length === 0) return pattern === address;
  const last = rest.pop() ?? '';
  if (!address.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = address.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return address.length - last.length >= at && address.endsWith(last);
}
