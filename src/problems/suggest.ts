import type { Fix } from './diagnostic.ts';

/**
 * Returns the candidate that `word` most likely misspells, or undefined if no candidate is near.
 * Near means an edit distance (with transpositions) of at most a third of the longer word, at least 1.
 */
export function nearestCandidate(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const limit = Math.max(1, Math.floor(Math.max(word.length, candidate.length) / 3));
    if (Math.abs(word.length - candidate.length) > limit) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance <= limit && distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** A suggestion as text for the end of a message (empty if no candidate is near), and as a fix. */
export interface Suggestion {
  readonly text: string;
  readonly fix?: Fix;
}

export const NO_HINT: Suggestion = { text: '' };

export function suggestion(word: string, candidates: Iterable<string>): Suggestion {
  const near = nearestCandidate(word, candidates);
  return near === undefined ? NO_HINT : { text: didYouMeanOneOf([`"${near}"`]), fix: { instead: [near] } };
}

/** Returns `; did you mean "x"?` for the end of a message, or an empty string. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  return suggestion(word, candidates).text;
}

/** Returns `; did you mean x, y or z?` with the first three candidates, or an empty string. */
export function didYouMeanOneOf(candidates: readonly string[]): string {
  const words = candidates.slice(0, 3);
  const last = words.pop();
  if (last === undefined) return '';
  return `; did you mean ${words.length === 0 ? '' : `${words.join(', ')} or `}${last}?`;
}

function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) cost = Math.min(cost, at(beforeLast, j - 2) + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
