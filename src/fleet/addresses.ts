import type { Mode } from '../operator/workspace-status.ts';
import { isUnsafe, UNSAFE, unicodeEscape } from '../values/unsafe-text.ts';

/** The rule for workspaces with a matching address. */
export interface FleetRule {
  /** An address pattern; `*` matches any text. */
  readonly pattern: string;
  readonly mode: Mode;
  /** Milliseconds. */
  readonly interval: number;
  readonly onDrift: 'pull-request' | undefined;
  /** The number of reviews with which a merged pull request approves its plan; undefined if only a person approves. */
  readonly reviews: number | undefined;
}

/** `SOURCE/PROJECT:WORKSPACE`, without `/PROJECT` for a project at the root of its source. */
export function fleetAddress(source: string, project: string, workspace: string): string {
  return `${projectAddress(source, project)}:${workspace}`;
}

export function projectAddress(source: string, project: string): string {
  return project === '.' ? source : `${source}/${project}`;
}

/** Characters. Longer addresses do not fit into an index of the database. */
const LONGEST_PROJECT = 500;

/** Why a folder cannot be a project, whatever its contents; undefined if it can. */
export function nameProblem(project: string): string | undefined {
  if (project.length > LONGEST_PROJECT)
    return `its path has ${project.length} characters, more than ${LONGEST_PROJECT}; shorten it`;
  if (isUnsafe(project) || /[\n\ufffd]/.test(project))
    return 'its path has a character that cannot be shown, such as a line break; rename the folder';
  return undefined;
}

/** For a list of projects, in which a name must not fake another line. */
export function shownProject(project: string): string {
  const shown = project.replace(UNSAFE, unicodeEscape);
  return shown.length > LONGEST_PROJECT ? `${shown.slice(0, LONGEST_PROJECT)}…` : shown;
}

export function ruleFor<Rule extends Pick<FleetRule, 'pattern'>>(
  rules: readonly Rule[],
  address: string,
): Rule | undefined {
  return rules.find(({ pattern }) => matchesAddress(pattern, address));
}

/** True if an earlier pattern matches everything that this one matches. Only `*` covers `*`. */
export function isCovered(pattern: string, earlier: string): boolean {
  return matchesAddress(earlier, pattern);
}

/** The source that a pattern names; undefined if it contains a `*`. */
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
