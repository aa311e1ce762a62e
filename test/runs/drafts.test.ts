import { serialize } from 'node:v8';
import { describe, expect, it } from 'vitest';
import type { FoundRecord } from '../../src/runs/discover.ts';
import { Spool, type SpoolPlace } from '../../src/runs/export/spool.ts';
import { Secret } from '../../src/values/value.ts';
import { draftsOf } from './drafts-of.ts';

const TEXT = 'text-of-the-secret';

/** Remembers what was laid aside. */
class OpenSpool extends Spool {
  readonly laid: string[] = [];

  override put(value: unknown): SpoolPlace {
    this.laid.push(serialize(value).toString('latin1'));
    return super.put(value);
  }
}

function found(record: FoundRecord['record'], published?: FoundRecord['record']): FoundRecord {
  return { record, published: published && { record: published, ahead: false }, mentions: [] };
}

describe('what is laid aside while an export reads', () => {
  it('holds no secret that is known, no field that no manifest shows, and nothing of records that none declares', () => {
    const spool = new OpenSpool();
    const { leftOut, manifests } = draftsOf(
      {
        records: new Map([
          [
            'Agent',
            [
              found(
                {
                  id: 'a1',
                  name: 'shown',
                  prompt_config: { prompt: `Say ${TEXT} to nobody.` },
                  llm_config: { api_key: 'echoed-by-the-platform', tools: [{ $x: TEXT }] },
                  of_the_platform: 'unknown-field',
                },
                { id: 'a1', name: 'shown', tts_config: { voice_id: TEXT, unknown: 'unknown-field' } },
              ),
            ],
          ],
          ['Webhook', [found({ id: 'w1', url: 'no url', payload: { a: 'left-out' } })]],
        ]),
        lookups: new Map(),
      },
      { secrets: [new Secret('KNOWN', TEXT)], spool },
    );
    expect(manifests.map(({ name }) => name)).toEqual(['shown']);
    expect(leftOut).toHaveLength(1);
    const laid = spool.laid.join('\n');
    expect(laid).toContain('to nobody.');
    for (const text of [TEXT, 'echoed-by-the-platform', 'unknown-field', 'left-out'])
      expect(laid).not.toContain(text);
  });
});
