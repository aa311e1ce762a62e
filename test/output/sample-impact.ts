import { compareVersions, type Impact, versionFigures } from '../../src/runs/impact/measure-impact.ts';
import { CountedValues, SharesOverTime, VersionTally } from '../../src/runs/impact/tally.ts';

/**
 * Returns two versions with this number of calls. @param text replaces each string that the platform could have sent.
 */
export function sampleImpact(text = 'escalated', [first, second] = [300, 100]): Impact {
  const values = new CountedValues();
  const [before, after] = [new VersionTally(values), new VersionTally(values)];
  const overTime = new SharesOverTime(values);
  for (let hour = 0; hour < first + second; hour++) {
    const outcomes = [text, '__proto__', 'constructor', `${'long_'.repeat(40)}${hour % 3}`];
    const call = { session_outcome: outcomes[hour % 4], end_reason: null, duration: '99:99:99', cost: -1 };
    (hour < first ? before : after).add(call);
    overTime.add(hour * 3_600_000, call);
  }
  const sides = [
    { version: 1, tally: before },
    { version: 2, tally: after },
  ] as const;
  const published_at = new Date(0).toISOString();
  return {
    document: {
      ...{ format_version: 1, voxform_version: text, workspace: text, workspace_id: text },
      ...{ address: `Agent/${text}`, id: text, since: text, notes: [text] },
      ...{ direction: text, channel: text },
      versions: sides.map(({ version, tally: calls }) =>
        versionFigures({ version, published_at, until: null, from: 0 }, calls),
      ),
      compared: compareVersions(...sides),
      left_out: { near_publication: 0, without_start: 0 },
    },
    overTime: { periods: overTime.periods, width: overTime.width },
  };
}
