import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { kinds } from '../../../src/kinds/index.ts';
import { formatText } from '../../../src/manifests/formatting/format-text.ts';
import type { KeyOrder } from '../../../src/manifests/formatting/key-order.ts';
import { manifestOrder, projectOrder } from '../../../src/project/format-files.ts';
import type { Json } from '../../../src/values/json.ts';
import { layout, read, root, written } from '../editing/any-yaml.ts';

const inManifests = (document: Json): KeyOrder | undefined => manifestOrder(document, kinds);

function formatted(text: string, orderOf = inManifests): string {
  const result = formatText(text, orderOf);
  if (!('text' in result)) throw new Error(JSON.stringify(result.problems));
  return result.text;
}

const TIDY = `# header about the file

# about the agent
apiVersion: voxform/v1
kind: Agent # kind
metadata: { name: day, labels: { b: x, a: y } } # m
spec: # the spec
  # before name
  name: 'x'
  # before llm
  llm_config:
    model: "gpt"
    # inside
    temperature: 0.5   # t
    tools:
      - b: 1
        a: 2
        # tail of item
      # tail of tools

  prompt_config:
    prompt: |-   # lit
      # Title

        indented
      end
    # tail of prompt_config
  # tail of spec
extra: 1
# end
---
apiVersion: voxform/v1
kind: WorkspaceUser
metadata:
  name: ann
spec:
  email: ann@example.com
  modules: [
    a, # c
    b
    ]
  agent_ids:
    - {$ref: Agent/x} # x
    - >2
       a
        b
`;

const UNTIDY = `# header about the file


# about the agent
kind: Agent # kind
extra: 1
apiVersion: voxform/v1
spec:      # the spec
    # before llm
    llm_config:
        # inside
        temperature: 0.5   # t
        tools:
            -  b: 1
               a: 2
               # tail of item
            # tail of tools
        model: "gpt"


    prompt_config:
        prompt: |-   # lit
            # Title

              indented
            end
        # tail of prompt_config

    # before name
    name: 'x'
    # tail of spec
metadata: { labels: { b: x, a: y }, name: day } # m
# end
...
---
apiVersion: voxform/v1
kind: WorkspaceUser
metadata:
  name: ann
spec:
  agent_ids:
  - {$ref: Agent/x} # x
  - >2
     a
      b
  modules: [
    a, # c
    b
    ]
  email: ann@example.com
`;

describe('format', () => {
  it('sorts keys with their comments, and keeps all other formatting', () => {
    const text = formatted(UNTIDY);
    expect(text).toBe(TIDY);
    expect(formatted(text)).toBe(text);
  });

  it.each([
    {
      reason: 'brackets on one line',
      text: '{ metadata: { id: "1", name: a }, kind: Agent, apiVersion: voxform/v1 }\n',
      expected: '{ apiVersion: voxform/v1, kind: Agent, metadata: { name: a, id: "1" } }\n',
    },
    {
      reason: 'JSON',
      text: '{"kind":"Agent","apiVersion":"voxform/v1"}',
      expected: '{\n  "apiVersion": "voxform/v1",\n  "kind": "Agent"\n}\n',
    },
    {
      reason: 'Windows line endings',
      text: 'kind: Agent\r\napiVersion: voxform/v1\r\nspec:\r\n    name: |\r\n        x\r\n',
      expected: 'apiVersion: voxform/v1\r\nkind: Agent\r\nspec:\r\n  name: |\r\n    x\r\n',
    },
    {
      reason: 'an unknown kind',
      text: 'kind: Odd\nspec: { b: 1, a: 2 }\napiVersion: voxform/v1\n',
      expected: 'apiVersion: voxform/v1\nkind: Odd\nspec: { b: 1, a: 2 }\n',
    },
    {
      reason: 'an alias that would precede its anchor: the order stays',
      text: 'spec:\n    name: &x a\nkind: Agent\nmetadata:\n    name: *x\n',
      expected: 'spec:\n  name: &x a\nkind: Agent\nmetadata:\n  name: *x\n',
    },
    { reason: 'an empty file', text: '', expected: '' },
    { reason: 'only comments', text: '# nothing yet\n', expected: '# nothing yet\n' },
    {
      reason: 'an empty document',
      text: '---\nkind: Agent\n---\n---\nkind: Agent\n',
      expected: 'kind: Agent\n---\nkind: Agent\n',
    },
    {
      reason: 'documents of comments only: the first ones belong to the next document',
      text: '---\n# a\n---\n\n# b\n---\nkind: Agent\n---\n\n# c\n\n\n  # d\n\n---\nkind: Odd\n---\n# e\n',
      expected: '# a\n# b\nkind: Agent\n---\n# c\n\n  # d\n---\nkind: Odd\n---\n# e\n',
    },
  ])('formats $reason', ({ text, expected }) => {
    expect(formatted(text)).toBe(expected);
    expect(formatted(expected)).toBe(expected);
  });

  it('sorts the project file, and patches and defaults by kind', () => {
    const text = `workspaces:
  a:
    patches: { Agent/x: { tts_config: { speed: slow }, name: y } }
    workspace_id: w
    base_url: https://example.com
defaults:
  Agent:
    tts_config: { speed: slow }
    name: z
version: 1
`;
    expect(formatted(text, () => projectOrder(kinds))).toBe(`version: 1
workspaces:
  a:
    base_url: https://example.com
    workspace_id: w
    patches: { Agent/x: { name: y, tts_config: { speed: slow } } }
defaults:
  Agent:
    name: z
    tts_config: { speed: slow }
`);
  });

  it('does not change invalid text, and reports its position', () => {
    expect(formatText('a: 1\nb: [\n', inManifests)).toMatchObject({
      problems: [{ code: 'yaml-syntax', line: 2 }],
    });
  });

  it('never changes the meaning, and is idempotent', () => {
    let laid = 0;
    fc.assert(
      fc.property(root, layout, (json, style) => {
        const text = written(json, style);
        fc.pre(read(text) !== undefined);
        const keys = Object.keys(json).sort().reverse();
        const order: KeyOrder = { keys, inner: () => order };
        const result = formatText(text, () => order);
        if (!('text' in result)) return;
        laid++;
        expect(read(result.text), text).toEqual(read(text));
        expect(
          formatText(result.text, () => order),
          text,
        ).toEqual(result);
      }),
      { numRuns: 100 },
    );
    expect(laid).toBeGreaterThan(40);
  });
});
