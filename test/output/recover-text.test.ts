import { describe, expect, it } from 'vitest';
import { type RecoverResult, recoveredText, recoverText } from '../../src/output/recover-text.ts';
import type { Match, MatchCandidate } from '../../src/runs/recover/matches.ts';
import { plainStyle, widest } from './sample-styles.ts';

const addresses = Array.from({ length: 100 }, (_, index) => `PhoneNumber/line-${index}`);

function matchOf(address: string, index: number): Match {
  const certain: MatchCandidate = {
    id: `01JNUMBER${String(index).padStart(17, '0')}`,
    isExact: true,
    agrees: ['nickname', 'number'],
    differs: [],
    clauses: ['it has the number of the manifest'],
  } as MatchCandidate;
  const resource = {
    address,
    kind: 'PhoneNumber',
    name: address,
    labels: {},
    id: undefined,
    previousNames: [],
    ignoreDrift: [],
    mayReplace: false,
    spec: { number: `+1${index}` },
    source: { file: 'numbers.yaml', line: index },
  };
  return { resource, candidates: [certain], certain };
}

const nothing: RecoverResult = {
  taken: new Map(),
  declined: new Set(),
  matches: [],
  unanswered: [],
  missed: [],
  selection: undefined,
};

const lines = (text: string) => text.trimEnd().split('\n').length;

describe('records found for 100 numbers', () => {
  it('are a table that shows their common evidence once', () => {
    const matches = addresses.map(matchOf);
    const shown = recoverText(matches, plainStyle());
    expect(lines(shown)).toBeLessThan(110);
    expect(shown.match(/it has the number of the manifest/g)).toHaveLength(1);
    for (const { resource, certain } of matches) {
      expect(shown).toContain(resource.address);
      expect(shown).toContain(certain?.id);
    }
    expect(widest(shown)).toBeLessThanOrEqual(80);
    expect(recoverText(matches.slice(0, 3), plainStyle())).toContain('  PhoneNumber/line-0  numbers.yaml:0\n    - 01J');
  });

  it.each(['Agent', 'PhoneNumber'])('are counted, and some named, if they were not found (%s)', (kind) => {
    const matches = addresses.map((_, index): Match => {
      const { resource } = matchOf(`${kind}/lost-${index}`, index);
      return { resource: { ...resource, kind }, candidates: [], certain: undefined };
    });
    const told = { ...nothing, matches };
    const shown = recoveredText(told, plainStyle());
    expect(lines(shown)).toBeLessThan(16);
    expect(shown.replaceAll(/\s+/g, ' ')).toContain('100 not found:');
    expect(shown.replaceAll(/\s+/g, ' ')).toContain('and 88 more (--output json lists them)');
    if (kind === 'PhoneNumber') expect(shown).toContain('the next plan looks for them by number.');
  });
});
