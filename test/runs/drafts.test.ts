import { describe, expect, it } from 'vitest';
import type { FoundRecord } from '../../src/runs/discover.ts';
import { manifestFiles } from '../../src/runs/export/project-files.ts';
import { Secret } from '../../src/values/value.ts';
import { draftsOf } from './drafts-of.ts';

const TEXT = 'text-of-the-secret';

function found(record: FoundRecord['record'], published?: FoundRecord['record']): FoundRecord {
  return { record, published: published && { record: published, ahead: false }, mentions: [] };
}

describe('files of an export', () => {
  it('contain no known secret, no field that manifests lack, and nothing of undeclarable records', () => {
    const { leftOut, manifests, complete } = draftsOf(
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
          [
            'Webhook',
            [
              found({ id: 'w0', url: 'https://example.com', payload: { data: { key: 'sk-****ef' } } }),
              found({ id: 'w1', url: 'no url', payload: { a: 'left-out' } }),
            ],
          ],
        ]),
        lookups: new Map(),
      },
      { secrets: [new Secret('KNOWN', TEXT)] },
    );
    expect(manifests.map(({ name }) => name)).toEqual(['shown', 'example-com']);
    expect(leftOut).toHaveLength(1);
    const written = [...manifestFiles(complete(), 'resource')].map(({ text }) => text).join('\n');
    expect(written).toContain('to nobody.');
    for (const text of [TEXT, '****', 'echoed-by-the-platform', 'unknown-field', 'left-out'])
      expect(written).not.toContain(text);
  });
});
