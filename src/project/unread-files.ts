import type { Finding } from '../manifests/finding.ts';
import type { Address } from '../manifests/resource.ts';

/** A file with unknown declarations: it cannot be read, or a manifest in it has no known kind or no name. */
export interface UnreadFile {
  readonly file: string;
  /** The line of its first problem. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** Undefined if its text does not show what it declares. */
  readonly text: string | undefined;
}

/** The findings without possible consequences of unreadable files. A warning for each such file counts the ones left out. */
export function withoutConsequences(
  findings: readonly Finding[],
  unread: readonly UnreadFile[],
): readonly Finding[] {
  if (unread.length === 0) return findings;
  const left = new Map<UnreadFile, Set<Address>>();
  const kept = findings.filter(({ absent }) => {
    const file = absent === undefined ? undefined : unread.find((each) => mayDeclare(each, absent));
    if (absent === undefined || file === undefined) return true;
    left.set(file, (left.get(file) ?? new Set()).add(absent));
    return false;
  });
  return [...kept, ...[...left].map(([file, addresses]) => notChecked(file, [...addresses]))];
}

/** A name that does not occur in the file is certainly not declared there. */
function mayDeclare({ text }: UnreadFile, address: Address): boolean {
  const name = address.slice(address.indexOf('/') + 1);
  return text === undefined || /[^\w.-]/.test(name) || text.includes(name);
}

function notChecked({ file, line, column }: UnreadFile, [first, ...more]: readonly Address[]): Finding {
  const which = more.length === 0 ? first : `${first} and ${more.length} more`;
  const place = { ...(line !== undefined && { line }), ...(column !== undefined && { column }) };
  const message = `references to ${which} were not checked, because this file may declare ${more.length === 0 ? 'it' : 'them'}`;
  return { severity: 'warning', code: 'unchecked-references', message, file, ...place };
}
