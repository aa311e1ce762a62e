import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { ShownRecord } from '../../src/kinds/kind.ts';
import type { FoundRecord } from '../../src/runs/discover.ts';
import { manifestFiles, secretsFile } from '../../src/runs/export/project-files.ts';
import { usedSecrets } from '../../src/runs/export/secret-names.ts';
import { Secret } from '../../src/values/value.ts';
import { draftsOf } from './drafts-of.ts';

interface Shown {
  readonly Agent?: readonly (ShownRecord | FoundRecord)[];
  readonly PhoneNumber?: readonly ShownRecord[];
  readonly Webhook?: readonly ShownRecord[];
  readonly WorkspaceUser?: readonly ShownRecord[];
  readonly bases?: readonly { readonly id: string; readonly name: string }[];
  readonly secrets?: Readonly<Record<string, string>>;
}

function drafts({ bases = [], secrets = {}, ...shown }: Shown) {
  const records = new Map(
    Object.entries(shown).map(([kind, list]) => [
      kind,
      list.map(
        (each): FoundRecord =>
          'mentions' in each
            ? (each as FoundRecord)
            : { record: each as ShownRecord, published: undefined, mentions: [] },
      ),
    ]),
  );
  const known = Object.entries(secrets).map(([name, text]) => new Secret(name, text));
  return draftsOf({ records, lookups: new Map([['KnowledgeBase', bases]]) }, { secrets: known });
}

/** Returns the manifest of the only record without the editor line, and the other written texts. */
function written(shown: Shown): { manifest: string; texts: Record<string, string> } {
  const files = [...manifestFiles(drafts(shown).complete(), 'resource')];
  const manifest = files.find(({ path }) => path.endsWith('.yaml'))?.text ?? '';
  return {
    manifest: manifest.slice(manifest.indexOf('\n') + 1),
    texts: Object.fromEntries(
      files.filter(({ path }) => !path.endsWith('.yaml')).map(({ path, text }) => [path, text]),
    ),
  };
}

const version = { id: 'a1', version: 7, tts_config: { voice_id: 'v' } };

describe('exported manifest', () => {
  it('contains the fields of its kind, with references, files and comments', () => {
    const { manifest, texts } = written({
      bases: [
        { id: 'k1', name: 'FAQ' },
        { id: 'k2', name: 'Twins' },
        { id: 'k3', name: 'Twins' },
      ],
      Agent: [
        {
          record: {
            id: 'a1',
            name: 'Support: line',
            status: 'draft',
            version: 7,
            published_at: '2030-01-01T00:00:00+00:00',
            llm_config: {
              provider: 'openai',
              unheard_of: 1,
              knowledge_base_ids: ['k1', 'k2', 'gone'],
              tools: [{ name: 'look', parameters: { $ref: '#/x' } }],
            },
            prompt_config: { prompt: 'One\nTwo\nThree\nFour', welcome_message: 'Hi,\nthere' },
          },
          published: { record: version, ahead: true },
          mentions: [],
        },
      ],
    });
    expect(manifest).toBe(`apiVersion: voxform/v1
kind: Agent
metadata:
  name: support-line
  id: a1
spec:
  name: "Support: line"
  llm_config:
    provider: openai
    # no KnowledgeBase with a unique name found for k2, gone
    knowledge_base_ids:
      - { $ref: KnowledgeBase/FAQ }
      - k2
      - gone
    tools:
      - name: look
        parameters:
          $literal: { $ref: "#/x" }
    # api_key: { $secret: OPENAI_API_KEY }
  prompt_config:
    prompt: { $file: support-line.prompt.md }
    welcome_message: |-
      Hi,
      there
  # Value from version 7, the latest published version, because the API does not return this field for the draft; the draft is newer and may differ.
  tts_config:
    voice_id: v
`);
    expect(texts).toEqual({ 'manifests/agents/support-line.prompt.md': 'One\nTwo\nThree\nFour\n' });
  });

  it('suggests a secret beside a spec that lacks its object', () => {
    expect(written({ Agent: [{ id: 'a1', name: '24h' }] }).manifest).toContain(`spec:
  name: 24h
  # llm_config:
  #   api_key: { $secret: AGENT_24H_API_KEY }
`);
  });

  it('escapes control characters, so that it parses to the same values', () => {
    const name = 'a\u009b31m \u202eb\u200b\u0007\u{e0041}';
    const { manifest } = written({
      Webhook: [{ id: 'w1', url: 'https://example.com', payload: { data: { [name]: `${name}\ntwo` } } }],
    });
    expect(manifest).not.toMatch(/[^\P{Cc}\n]|[\u202e\u200b\u{e0041}]/u);
    expect(parse(manifest).spec.payload.data).toEqual({ [name]: `${name}\ntwo` });
  });

  it('contains no known secret', () => {
    const secrets = { TOKEN: 'tok-123456789', SHORT: 'abc' };
    const shown: Shown = {
      secrets,
      Webhook: [
        {
          id: 'w1',
          url: 'https://example.com/?t=tok-123456789&x=abc',
          payload: { data: { t: 'tok-123456789' } },
        },
      ],
    };
    const { manifest } = written(shown);
    expect(manifest).not.toContain('tok-123456789');
    expect(manifest).toContain('t: { $secret: TOKEN }');
    expect(manifest).toContain('- https://example.com/?t=\n');
    const nowhere = drafts({
      secrets,
      Webhook: [{ id: 'w1', url: 'https://example.com', payload: { data: { $t: 'tok-123456789' } } }],
    });
    expect(nowhere.manifests[0]?.omitted.map(({ path }) => path)).toEqual(['payload']);
  });

  it.each([
    ['an array without known values', { id: 'u1', email: 'a@example.com', modules: ['agents', 'billing'] }, 'modules'],
    ['an undocumented role', { id: 'u1', email: 'a@example.com', role: 'king' }, 'role'],
  ])('omits %s, and reports it', (_, record, path) => {
    const { manifests, complete } = drafts({ WorkspaceUser: [record] });
    expect([...complete()].map(({ draft }) => draft.leaves.has(path))).toEqual([false]);
    expect(manifests[0]?.omitted).toEqual([{ path, because: 'the API documentation does not allow its value' }]);
  });

  it.each([
    ['a number that is too long', { PhoneNumber: [{ id: 'n1', number: '+4930123456789' }] }, 'require number'],
    ['a webhook with an invalid URL', { Webhook: [{ id: 'w1', url: 'nowhere' }] }, 'require url'],
    [
      'an id that is invalid in a path',
      { Webhook: [{ id: 'a b', url: 'https://example.com' }] },
      'the id is not valid',
    ],
    [
      'two numbers with the same digits',
      {
        PhoneNumber: [
          { id: 'n1', number: '+49301' },
          { id: 'n2', number: '49 301' },
        ],
      },
      'n1 has the same natural key',
    ],
  ])('is not created from %s', (_, shown, because) => {
    const { leftOut } = drafts(shown as Shown);
    expect(leftOut).toHaveLength(1);
    expect(leftOut[0]?.because).toContain(because);
  });

  it('quotes strings that other YAML parsers would read differently', () => {
    const words = ['yes', 'no', 'On', '012', '0o7', '12:30:45', '1_000', '2001-01-01', 'null', 'true', '1e3', 'plain'];
    const { manifest } = written({ Agent: [{ id: 'a1', name: 'a', tts_config: { backchannel_words: words } }] });
    const written11 = words.filter((word) => !manifest.includes(`- "${word}"\n`));
    expect(written11).toEqual(['plain']);
    expect(manifest).toContain('- plain\n');
  });

  it('cannot be escaped by an id in a comment', () => {
    const { manifest } = written({
      WorkspaceUser: [{ id: 'u1', email: 'a@example.com', agent_ids: ['x\nspec: {}\r\u2028y'] }],
    });
    expect(manifest).toContain('# no Agent with a unique name found for x spec: {}  y\n');
  });

  it('is grouped with others of its kind into readable files', () => {
    const prompt = 'x'.repeat(90_000);
    const Agent = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, name: id, prompt_config: { prompt } }));
    const files = [...manifestFiles(drafts({ Agent }).complete(), 'kind')];
    expect(files.map(({ path }) => path)).toEqual(['manifests/agents.yaml', 'manifests/agents-2.yaml']);
    expect(files.map(({ text }) => text.split('\n---\n').length)).toEqual([3, 2]);
  });
});

describe('list of secrets', () => {
  it('names each once, with a placeholder that is never sent', () => {
    const { manifests } = drafts({
      Agent: [
        { id: 'a1', name: 'A b' },
        { id: 'a2', name: 'A b' },
      ],
    });
    const { text } = secretsFile({ name: 'test', baseUrl: '', workspaceId: '', apiKeySecret: 'KEY' }, manifests);
    expect(text.match(/^\w+=.*$/gm)).toEqual([
      'KEY=voxform-export-placeholder',
      'A_B_API_KEY=voxform-export-placeholder',
      'A_B_2_API_KEY=voxform-export-placeholder',
    ]);
  });

  it('contains those inside values, and suggests no name twice', () => {
    const { manifests } = drafts({
      Agent: [{ id: 'a1', name: 'Key' }],
      Webhook: [
        {
          id: 'w1',
          url: 'https://example.com/?t=token-of-the-hook',
          payload: { a: ['token-of-the-hook'], b: { $secret: 'NOT_ONE' } },
        },
      ],
      secrets: { KEY_API_KEY: 'key-of-the-workspace', HOOK_TOKEN: 'token-of-the-hook' },
    });
    const url = { path: 'url', address: 'Webhook/example-com' };
    const payload = { path: 'payload', address: 'Webhook/example-com' };
    const [used, ...more] = usedSecrets(manifests);
    expect(more).toEqual([]);
    expect(used?.name).toBe('HOOK_TOKEN');
    expect(new Set(used?.places)).toEqual(new Set([url, payload]));
    const { text } = secretsFile(
      { name: 'test', baseUrl: '', workspaceId: '', apiKeySecret: 'KEY_API_KEY' },
      manifests,
    );
    expect(text.match(/^\w+=/gm)).toEqual(['KEY_API_KEY=', 'HOOK_TOKEN=', 'AGENT_KEY_API_KEY=']);
  });
});
