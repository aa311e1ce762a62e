import picomatch from 'picomatch';
import { suggestAddress } from '../manifests/check-references.ts';
import { type KnownNames, unknownKind } from '../manifests/envelope.ts';
import type { Address } from '../manifests/resource.ts';
import type { Fix } from '../problems/diagnostic.ts';
import { NO_HINT } from '../problems/suggest.ts';

/** An ineffective entry of `skip`. */
export interface SkipProblem {
  readonly severity: 'error' | 'warning';
  readonly code: string;
  readonly message: string;
  readonly fix?: Fix | undefined;
  readonly index: number;
}

export function skipping(entries: readonly string[]): (address: Address) => boolean {
  return entries.length === 0 ? () => false : picomatch([...entries], OPTIONS);
}

/** Entries whose part before the slash matches no kind. */
export function skippedKinds(entries: readonly string[], known: KnownNames): SkipProblem[] {
  return entries.flatMap((entry, index): SkipProblem[] => {
    const kind = kindPart(entry);
    if (kind === undefined || matchesOne(kind, known.kinds.keys())) return [];
    const { message } = unknownKind(kind, known);
    return [{ severity: 'error', code: 'unknown-kind', message, index }];
  });
}

/** Entries that match nothing, except those with unknown kinds. */
export function idleSkips(
  entries: readonly string[],
  addresses: ReadonlySet<Address>,
  known: KnownNames,
): SkipProblem[] {
  const wrong = new Set(skippedKinds(entries, known).map(({ index }) => index));
  return entries.flatMap((entry, index): SkipProblem[] => {
    if (wrong.has(index) || matchesOne(entry, addresses)) return [];
    const isGlob = picomatch.scan(entry).isGlob === true;
    const near = isGlob ? NO_HINT : suggestAddress(entry, addresses);
    const message = isGlob
      ? `no manifest declares a resource that ${entry} matches`
      : `no manifest declares ${entry}${near.text}`;
    return [{ severity: 'warning', code: 'unknown-address', message, fix: near.fix, index }];
  });
}

const OPTIONS = { dot: true } as const;

function matchesOne(pattern: string, texts: Iterable<string>): boolean {
  const matches = picomatch(pattern, OPTIONS);
  return [...texts].some((text) => matches(text));
}

/** The part before the first slash outside of brackets, if any. */
function kindPart(entry: string): string | undefined {
  let depth = 0;
  for (const [at, letter] of [...entry].entries()) {
    if ('{(['.includes(letter)) depth += 1;
    else if ('})]'.includes(letter)) depth -= 1;
    else if (letter === '/' && depth === 0) return [...entry].slice(0, at).join('') || undefined;
  }
  return undefined;
}
