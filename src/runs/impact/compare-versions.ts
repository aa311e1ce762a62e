import { type Compared, type Difference, FEWEST_CALLS } from './impact-document.ts';
import { differenceOf, type Estimate, rounded, wilson } from './intervals.ts';
import { measures, type ShareField, type Shares, shareFields, type VersionTally } from './tally.ts';

interface ComparedSide {
  readonly version: number;
  readonly tally: VersionTally;
}

/** Compares all shares and medians of two versions. */
export function compareVersions(from: ComparedSide, to: ComparedSide): Compared {
  const sides = [from.tally, to.tally] as const;
  const shares = shareFields.map((field) => {
    const values = new Set(sides.flatMap((side) => [...side.shares.of(field).keys()]));
    const each = [...values].sort().map((value) => [
      value,
      shareDifference(
        field,
        value,
        sides.map(({ shares }) => shares),
      ),
    ]);
    return [field, Object.fromEntries(each)];
  });
  const medians = measures.map((measure) => {
    const [before, after] = sides.map(({ measured }) => measured[measure].quantile(0.5));
    return [
      measure,
      difference(
        sides.map(({ measured }) => measured[measure].median()),
        [before, after],
        sides.map(({ measured }) => measured[measure].total),
      ),
    ];
  });
  return {
    from: from.version,
    to: to.version,
    shares: Object.fromEntries(shares),
    ...Object.fromEntries(medians),
  } as Compared;
}

function shareDifference(field: ShareField, value: string, sides: readonly Shares[]): Difference {
  const estimates = sides.map((shares) =>
    shares.calls === 0 ? undefined : wilson(shares.of(field).get(value) ?? 0, shares.calls),
  );
  return difference(
    estimates,
    estimates.map((estimate) => estimate?.value),
    sides.map(({ calls }) => calls),
  );
}

function difference(
  [from, to]: readonly (Estimate | undefined)[],
  [before, after]: readonly (number | undefined)[],
  calls: readonly number[],
): Difference {
  const value = before === undefined || after === undefined ? null : rounded(after - before);
  const unclear = Math.min(...calls) < FEWEST_CALLS ? 'too_few_calls' : 'no_clear_difference';
  if (from === undefined || to === undefined)
    return { difference: value, low: null, high: null, verdict: unclear };
  const { low, high } = differenceOf(from, to);
  const verdict = low > 0 ? 'higher' : high < 0 ? 'lower' : unclear;
  return { difference: value, low: rounded(low), high: rounded(high), verdict };
}
