import type { RecordVersion } from '../../kinds/kind.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { isWithin, toMilliseconds } from '../../platform/date-range.ts';
import { compareText } from '../../problems/compare-text.ts';
import { UserError } from '../../problems/user-error.ts';
import { VERSION } from '../../version.ts';
import { selectedCalls } from '../call-selection.ts';
import { noSuchVersion, type VersionedRecord } from '../versioned-record.ts';
import {
  type Compared,
  type Difference,
  IMPACT_FORMAT_VERSION,
  type ImpactDocument,
  type ImpactVersion,
  MIN_CALLS,
} from './impact-document.ts';
import {
  CountedValues,
  differenceOf,
  type Estimate,
  MAX_VALUES,
  measures,
  OTHERS,
  type Period,
  rounded,
  type ShareField,
  type Shares,
  SharesOverTime,
  shareFields,
  VersionTally,
  wilson,
} from './tally.ts';

export interface ImpactSelection {
  /** A date or a time. Earlier calls are left out. */
  readonly since?: string | undefined;
  /** Only calls with this direction are counted. */
  readonly direction?: string | undefined;
  /** Only calls with this `channel_type` are counted. */
  readonly channel?: string | undefined;
  /** The versions to compare; by default the two newest. */
  readonly compare?: readonly [from: number, to: number] | undefined;
}

interface ImpactInput extends ImpactSelection, Pick<VersionedRecord, 'address' | 'id' | 'versions'> {
  /** All versions, if they were listed before. */
  readonly listed?: readonly RecordVersion[] | undefined;
  readonly client: PlatformClient;
  readonly workspace: { readonly name: string; readonly workspaceId: string };
  /** Called with the number of calls outside the requested range. */
  onOutside?(count: number): void;
  /** Called with the number of calls so far. */
  onProgress?: ((calls: number) => void) | undefined;
}

export interface Impact {
  readonly document: ImpactDocument;
  /** The shares of all versions, in periods of `width` milliseconds. */
  readonly overTime: { readonly periods: readonly Period[]; readonly width: number };
}

/**
 * Measures the effect of a record's published versions on its calls. Reads the versions, and each call since the first version or
 * since `since` once. Memory grows only with the number of versions.
 * @throws UserError if nothing was published, or if a version to compare does not exist.
 */
export async function measureImpact(input: ImpactInput): Promise<Impact> {
  const { address, id, versions: kind, client, workspace, onOutside, onProgress } = input;
  const { since, compare, direction, channel } = input;
  if (since !== undefined && Number.isNaN(toMilliseconds(since))) throw new UserError(`${since} is not a date`);
  const published = new PublishedVersions(await readVersions(input));
  const [first] = published.all;
  if (first === undefined) throw new UserError(`${address} was never published`);
  const shown = published.all.filter(
    ({ version, until }) =>
      since === undefined || until === null || isWithin(until, { from: since }) || compare?.includes(version),
  );
  const from = since === undefined || isWithin(first.published_at, { from: since }) ? first.published_at : since;
  const begin = toMilliseconds(from);
  const values = new CountedValues();
  const tallies = new Map(shown.map(({ version }) => [version, new VersionTally(values)]));
  const [before, after] = sidesOf(shown, compare, address);
  const overTime = new SharesOverTime(values);
  let [read, nearPublication, withoutStart] = [0, 0, 0];
  const wanted = { [kind.inCalls]: id, direction, channel_type: channel };
  const where = Object.entries(wanted).flatMap(([field, value]) =>
    value === undefined ? [] : [{ field, operator: '=' as const, value }],
  );
  for await (const call of selectedCalls(client, { from, where, onOutside, onRead: () => onProgress?.(++read) })) {
    const start = typeof call.start_time === 'string' ? toMilliseconds(call.start_time) : Number.NaN;
    if (Number.isNaN(start)) withoutStart += 1;
    else if (start < begin) continue;
    else if (published.isNearPublication(start)) nearPublication += 1;
    else {
      tallies.get(published.at(start)?.version ?? 0)?.add(call);
      overTime.add(start, call);
    }
  }
  const sides = [before, after].flatMap((version) => {
    const tally = tallies.get(version ?? 0);
    return version === undefined || tally === undefined ? [] : [{ version, tally }];
  });
  const [one, other] = sides;
  const leftOut = { near_publication: nearPublication, without_start: withoutStart };
  const document: ImpactDocument = {
    format_version: IMPACT_FORMAT_VERSION,
    voxform_version: VERSION,
    workspace: workspace.name,
    workspace_id: workspace.workspaceId,
    address,
    id,
    since: since ?? null,
    direction: direction ?? null,
    channel: channel ?? null,
    versions: shown.map((version) => versionFigures(version, tallies.get(version.version) ?? new VersionTally(values))),
    compared: one === undefined || other === undefined ? null : compareVersions(one, other),
    left_out: leftOut,
    notes: notesOf([...tallies.values()], published.undated, leftOut),
  };
  return { document, overTime: { periods: overTime.periods, width: overTime.width } };
}

/** Lists the versions, and reads each version whose time of publication is not in the list. */
async function readVersions({ versions, client, id, listed }: ImpactInput): Promise<RecordVersion[]> {
  const all: RecordVersion[] = [];
  for await (const each of listed ?? versions.list(client, id)) {
    const { version, published_at } = each;
    const publishedAt = published_at ?? (await versions.get(client, id, version)).published_at;
    all.push({ ...each, published_at: publishedAt as string | null });
  }
  return all;
}

/** Returns the versions to compare; empty if there are fewer than two. */
function sidesOf(
  shown: readonly PublishedVersion[],
  compare: ImpactSelection['compare'],
  address: string,
): readonly (number | undefined)[] {
  if (compare === undefined) return shown.length < 2 ? [] : shown.slice(-2).map(({ version }) => version);
  for (const version of compare) {
    if (shown.some((each) => each.version === version)) continue;
    throw noSuchVersion(address, version);
  }
  return compare;
}

export function versionFigures({ version, published_at, until }: PublishedVersion, tally: VersionTally): ImpactVersion {
  const { calls } = tally.shares;
  const shares = shareFields.map((field) => {
    const counts = [...tally.shares.of(field)].sort(([a], [b]) => compareText(a, b));
    const each = counts.map(([value, count]) => {
      const { value: share, low, high } = wilson(count, calls);
      return [value, { count, share, low, high }];
    });
    return [field, Object.fromEntries(each)];
  });
  const quantiles = measures.map((measure) => {
    const counts = tally.measured[measure];
    return [measure, { median: rounded(counts.quantile(0.5)), p95: rounded(counts.quantile(0.95)) }];
  });
  return {
    version,
    published_at,
    until,
    calls,
    shares: Object.fromEntries(shares),
    ...Object.fromEntries(quantiles),
    unreadable: tally.unreadable,
  } as ImpactVersion;
}

function notesOf(
  all: readonly VersionTally[],
  undated: readonly number[],
  { near_publication: near, without_start: withoutStart }: ImpactDocument['left_out'],
): string[] {
  const coarse = measures.flatMap((measure) => {
    const digits = all.flatMap(({ measured }) => measured[measure].digits ?? []);
    return digits.length === 0
      ? []
      : [`Values of ${measure} are rounded to ${Math.min(...digits)} significant digits.`];
  });
  const unreadable = measures.flatMap((measure) => {
    const calls = all.reduce((sum, tally) => sum + tally.unreadable[measure], 0);
    return calls === 0 ? [] : [`Values of ${measure} that are not numbers are left out: ${calls}.`];
  });
  const others = shareFields.filter((field) => all.some(({ shares }) => shares.of(field).has(OTHERS)));
  return [
    'The platform does not show which version a call used: each call counts for the version that was the latest when it began.',
    `Calls within a minute of a publication are left out: ${near}.`,
    ...(withoutStart === 0 ? [] : [`Calls without a start time are left out: ${withoutStart}.`]),
    ...undated.map(
      (version) =>
        `The platform does not show when version ${version} was published: its calls count for the version before it.`,
    ),
    ...others.map(
      (field) => `${field} has more than ${MAX_VALUES} values: later ones are counted together as ${OTHERS}.`,
    ),
    ...unreadable,
    ...coarse,
    'The units of e2e_latency and of cost are not documented.',
  ];
}

/** A version, with the period in which it was the latest version. `from` is in milliseconds since 1970. */
interface PublishedVersion {
  readonly version: number;
  readonly published_at: string;
  readonly from: number;
  /** The time when the next version was published; null for the latest version. */
  readonly until: string | null;
}

/** The version of a call is uncertain if the call began this close to a publication. */
const UNCERTAIN_MS = 60_000;

/** The versions of one record, ordered by publication. */
class PublishedVersions {
  readonly all: readonly PublishedVersion[];
  readonly undated: readonly number[];
  readonly #starts: readonly number[];

  constructor(shown: readonly RecordVersion[]) {
    const sorted = shown
      .map(({ version, published_at: at }) => ({ version, at: at ?? '', from: toMilliseconds(at ?? '') }))
      .sort((a, b) => a.from - b.from || a.version - b.version);
    const known = sorted.filter(({ from }) => !Number.isNaN(from));
    this.undated = sorted
      .filter(({ from }) => Number.isNaN(from))
      .map(({ version }) => version)
      .sort((a, b) => a - b);
    this.all = known.map(({ version, at, from }, index) => ({
      version,
      published_at: at,
      from,
      until: known[index + 1]?.at ?? null,
    }));
    this.#starts = known.map(({ from }) => from);
  }

  /** Returns the latest version at the given time; undefined before the first publication. */
  at(moment: number): PublishedVersion | undefined {
    return this.all[this.#publishedUntil(moment) - 1];
  }

  /** True if the time is within a minute of a publication. */
  isNearPublication(moment: number): boolean {
    const after = this.#publishedUntil(moment);
    const [before = Number.NEGATIVE_INFINITY, next = Number.POSITIVE_INFINITY] = [
      this.#starts[after - 1],
      this.#starts[after],
    ];
    return moment - before <= UNCERTAIN_MS || next - moment <= UNCERTAIN_MS;
  }

  /** Returns the number of versions that were published at or before the given time. */
  #publishedUntil(moment: number): number {
    let [low, high] = [0, this.#starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#starts[middle] ?? 0) <= moment) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

interface ComparedSide {
  readonly version: number;
  readonly tally: VersionTally;
}

/** Compares all shares and medians of two versions. */
export function compareVersions(from: ComparedSide, to: ComparedSide): Compared {
  const sides = [from.tally, to.tally] as const;
  const shares = shareFields.map((field) => {
    const values = new Set(sides.flatMap((side) => [...side.shares.of(field).keys()]));
    const counted = sides.map((side) => side.shares);
    const each = [...values].sort().map((value) => [value, shareDifference(field, value, counted)]);
    return [field, Object.fromEntries(each)];
  });
  const medians = measures.map((measure) => {
    const counts = sides.map(({ measured }) => measured[measure]);
    const estimates = counts.map((each) => each.median());
    const values = counts.map((each) => each.quantile(0.5));
    const totals = counts.map(({ total }) => total);
    return [measure, difference(estimates, values, totals)];
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
  const values = estimates.map((estimate) => estimate?.value);
  const totals = sides.map(({ calls }) => calls);
  return difference(estimates, values, totals);
}

function difference(
  [from, to]: readonly (Estimate | undefined)[],
  [before, after]: readonly (number | undefined)[],
  calls: readonly number[],
): Difference {
  const value = before === undefined || after === undefined ? null : rounded(after - before);
  const unclear = Math.min(...calls) < MIN_CALLS ? 'too_few_calls' : 'no_clear_difference';
  if (from === undefined || to === undefined) return { difference: value, low: null, high: null, verdict: unclear };
  const { low, high } = differenceOf(from, to);
  const verdict = low > 0 ? 'higher' : high < 0 ? 'lower' : unclear;
  return { difference: value, low: rounded(low), high: rounded(high), verdict };
}
