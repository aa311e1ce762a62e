import { type Advice, advice, command, UserError } from '../problems/user-error.ts';
import type { StateDocument } from './state-document.ts';
import { LostState } from './state-errors.ts';
import { droppedBy, sharedId } from './state-records.ts';

/** The maximum number of records in the hint. */
const MAX_NAMES = 20;

interface Conflict {
  readonly text: string;
  /** Path of the file. */
  readonly name: string;
  /** The path quoted for a shell. */
  readonly shellName: string;
}

export function hasConflict(text: string): boolean {
  return /^(<<<<<<<|>>>>>>>) /m.test(text);
}

/**
 * Returns the error for a state with conflict markers. A backup and `git checkout --ours` contain the records of only one side, but the
 * lines outside the conflict already contain records of both sides.
 * @param parse parses one side; throws if that side is not a state.
 */
export function mergeConflict(conflict: Conflict, parse: (text: string) => StateDocument): LostState {
  const { text, name, shellName } = conflict;
  const hint = resolution(text, shellName, parse) ?? fallback(shellName);
  return new LostState(`the state ${name} has an unresolved merge conflict`, { hint });
}

function resolution(text: string, shellName: string, parse: (text: string) => StateDocument): Advice | undefined {
  const sides = sidesOf(text);
  if (sides === undefined) return undefined;
  let ours: StateDocument;
  let theirs: StateDocument;
  try {
    ours = parse(sides.ours);
    theirs = parse(sides.theirs);
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
  if (ours.lineage !== theirs.lineage || sharedId(ours) !== undefined) return undefined;
  const { ids, pending } = droppedBy(ours, theirs);
  const imported = ids.filter(
    ({ address, id }) =>
      theirs.resources[address]?.id === id &&
      !Object.hasOwn(ours.resources, address) &&
      !Object.hasOwn(ours.pending, address),
  );
  const others = [
    ...ids.filter((record) => !imported.includes(record)).map(({ address, id }) => `${address} (${id})`),
    ...pending.map((address) => `${address} (unknown create)`),
  ];
  const base = /^\|{7}/m.test(text) ? '|||||||' : '=======';
  return joinLines([
    'Do not restore a backup: it lacks the records of one side. Keep our side and import the records that only the other side has:',
    `  sed '/^<<<<<<< /d;/^${base}/,/^>>>>>>> /d' ${shellName} > ${shellName}.merged`,
    `  git checkout --ours ${shellName}`,
    advice`  ${command(`state push ${shellName}.merged`)}`,
    ...truncated(imported.map(({ address, id }) => advice`  ${command(`import ${address} ${id}`)}`)),
    ...(others.length === 0
      ? []
      : [
          'The other side also has the following records. They cannot be imported; look them up in the dashboard:',
          ...truncated(others.map((other) => `  ${other}`)),
        ]),
  ]);
}

function fallback(shellName: string): Advice {
  return joinLines([
    'Do not restore a backup: it lacks the records of one side. Take one side (--ours or --theirs) and compare it with the other before you apply:',
    `  git checkout --ours ${shellName}`,
    advice`For each missing record: ${command('import ADDRESS ID')}`,
  ]);
}

function joinLines(lines: readonly Advice[]): Advice {
  return lines.flatMap((line, index) => [index === 0 ? '' : '\n', line].flat());
}

function truncated(lines: readonly Advice[]): Advice[] {
  const omitted = lines.length - MAX_NAMES;
  return omitted <= 0 ? [...lines] : [...lines.slice(0, MAX_NAMES), `  and ${omitted} more`];
}

/** Returns both sides of the file; undefined if the markers are out of order. */
function sidesOf(text: string): { readonly ours: string; readonly theirs: string } | undefined {
  const ours: string[] = [];
  const theirs: string[] = [];
  let part: 'both' | 'ours' | 'base' | 'theirs' = 'both';
  for (const line of text.split('\n')) {
    const marker = /^(<{7}(?= )|\|{7}(?=[ \r]|$)|={7}(?=\r?$)|>{7}(?= ))/.exec(line)?.[0][0];
    if (marker === undefined) {
      if (part === 'both' || part === 'ours') ours.push(line);
      if (part === 'both' || part === 'theirs') theirs.push(line);
    } else if (marker === '<' && part === 'both') part = 'ours';
    else if (marker === '|' && part === 'ours') part = 'base';
    else if (marker === '=' && (part === 'ours' || part === 'base')) part = 'theirs';
    else if (marker === '>' && part === 'theirs') part = 'both';
    else return undefined;
  }
  return part === 'both' ? { ours: ours.join('\n'), theirs: theirs.join('\n') } : undefined;
}
