import type { Mode } from '../operator/workspace-status.ts';
import { isUnsafe, UNSAFE, unicodeEscape } from '../values/unsafe-text.ts';

/** The settings of workspaces whose address matches a pattern. */
export interface FleetRule {
  /** An address in which `*` matches any text. */
  readonly pattern: string;
  readonly mode: Mode;
  /** Milliseconds between runs. */
  readonly interval: number;
  readonly onDrift: 'pull-request' | undefined;
  /** The number of approving reviews with which a merge approves its plan; undefined if merges do not approve plans. */
  readonly reviews: number | undefined;
}

/** `SOURCE/PROJECT:WORKSPACE`, without `/PROJECT` for a project at the root of its source. */
export function fleetAddress(source: string, project: string, workspace: string): string {
  return `${projectAddress(source, project)}:${workspace}`;
}

export function projectAddress(source: string, project: string): string {
  return project === '.' ? source : `${source}/${project}`;
}

/** The maximum number of bytes of a project's path. Longer addresses do not fit into an index of the database. */
const MAX_PROJECT_BYTES = 500;

/** Returns the reason why the path of a folder is not allowed as the path of a project, if any. */
export function nameProblem(project: string): string | undefined {
  const bytes = Buffer.byteLength(project);
  if (bytes > MAX_PROJECT_BYTES) return `the project path has ${bytes} bytes; the maximum is ${MAX_PROJECT_BYTES}`;
  if (isUnsafe(project) || /[\n\ufffd]/.test(project))
    return 'the project path contains an unprintable character, such as a line break; rename the folder';
  return undefined;
}

/** Returns a project's path for messages. Unsafe characters are escaped, so that a path cannot imitate another line. */
export function shownProject(project: string): string {
  const escaped = project.replace(UNSAFE, unicodeEscape);
  return escaped.length > MAX_PROJECT_BYTES ? `${escaped.slice(0, MAX_PROJECT_BYTES)}…` : escaped;
}

export function ruleFor<Rule extends Pick<FleetRule, 'pattern'>>(
  rules: readonly Rule[],
  address: string,
): Rule | undefined {
  return rules.find(({ pattern }) => matchesAddress(pattern, address));
}

/** Returns the source that a pattern names; undefined if the source part of the pattern contains a `*`. */
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
  let position = first.length;
  for (const part of rest) {
    const found = address.indexOf(part, position);
    if (found === -1) return false;
    position = found + part.length;
  }
  return address.length - last.length >= position && address.endsWith(last);
}
