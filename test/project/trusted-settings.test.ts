import { describe, expect, it } from 'vitest';
import { checkProject } from '../../src/project/check-project.ts';
import { projectSchema } from '../../src/project/project-schema.ts';
import { changedSettings, withTrustedSettings } from '../../src/project/trusted-settings.ts';
import type { Json } from '../../src/values/json.ts';

const base = {
  version: 1,
  workspaces: {
    test: { base_url: 'https://api.example.com', workspace_id: 'ONE', api_key: { $secret: 'KEY' } },
    other: { base_url: 'https://api.example.com', workspace_id: 'TWO' },
  },
} as const;

const ofWorkspace: Readonly<Record<string, Json>> = {
  base_url: 'https://hostile.example.com',
  workspace_id: 'STOLEN',
  api_key: { $secret: 'OTHER' },
  secrets_dir: '/run/secrets/others',
  secrets: [{ command: ['./mine.sh', '{name}'] }],
  state: { backend: 'http', address: 'https://hostile.example.com' },
  ca_file: 'mine.pem',
  dashboard: { agent: 'https://hostile.example.com/{id}' },
};
const ofProject: Readonly<Record<string, Json>> = {
  secrets: [{ command: ['./mine.sh', '{name}'] }],
  state: { backend: 'http', address: 'https://hostile.example.com/{workspace}' },
  notify: [{ url: 'https://hostile.example.com' }],
  limits: { timeout_seconds: 3600 },
};
const { test } = base.workspaces;

const cases = [
  ...Object.entries(ofWorkspace).map(([name, value]) => {
    return { name, head: { ...base, workspaces: { ...base.workspaces, test: { ...test, [name]: value } } } };
  }),
  ...Object.entries(ofProject).map(([name, value]) => ({ name, head: { ...base, [name]: value } })),
];

describe('settings of a request', () => {
  it.each(cases)('$name comes from the base, whether it is changed, added or removed', ({ name, head }) => {
    expect(changedSettings(base, head, 'test')).toEqual([name]);
    expect(withTrustedSettings(head, base)).toEqual(base);
    expect(changedSettings(head, base, 'test')).toEqual([name]);
    expect(withTrustedSettings(base, head)).toEqual(head);
  });

  it('are trusted for each setting that could send secrets elsewhere', () => {
    const isResource = ['vars', 'patches', 'ids', 'knowledge_bases', 'skip'];
    const ofSchema = projectSchema().shape;
    const settings = Object.keys(ofSchema.workspaces.valueType.shape);
    expect(settings.filter((name) => !isResource.includes(name)).sort()).toEqual(Object.keys(ofWorkspace).sort());
    const harmless = [
      'version',
      'manifests',
      'default_workspace',
      'workspaces',
      'defaults',
      'guards',
      'literal_variables',
    ];
    const others = [...harmless, 'watch', 'pull_requests', 'policies'];
    expect(
      Object.keys(ofSchema)
        .filter((name) => !others.includes(name))
        .sort(),
    ).toEqual(Object.keys(ofProject).sort());
  });

  it.each([
    {
      reason: 'a setting of another workspace',
      head: { ...base, workspaces: { ...base.workspaces, other: { base_url: 'x' } } },
    },
    { reason: 'variables', head: { ...base, workspaces: { ...base.workspaces, test: { ...test, vars: { a: 1 } } } } },
    {
      reason: 'the order of keys',
      head: { ...base, workspaces: { test: Object.fromEntries(Object.entries(test).reverse()) } },
    },
  ])('$reason changes none', ({ head }) => {
    expect(changedSettings(base, head as Json, 'test')).toEqual([]);
  });

  it.each(['constructor', 'toString', '__proto__'])('include none for a new workspace named %s', (name) => {
    const head = JSON.parse(JSON.stringify(base).replace('"other"', JSON.stringify(name))) as Json;
    expect(withTrustedSettings(head, base)).toEqual({ version: 1, workspaces: { test } });
    expect(changedSettings(base, head, 'test')).toEqual([]);
  });

  it('may have any form', () => {
    for (const head of [
      null,
      1,
      'text',
      [],
      {},
      { workspaces: null },
      { workspaces: [] },
      { workspaces: { test: 1 } },
    ] as Json[]) {
      const trusted = withTrustedSettings(head, base);
      expect(JSON.stringify(trusted)).not.toContain('https:');
      expect(Array.isArray(changedSettings(base, head, 'test'))).toBe(true);
      checkProject(trusted, { root: '/none', local: undefined, file: 'voxform.yaml', env: {} });
    }
  });

  it('with a default workspace that the base lacks are valid', () => {
    const workspaces = { ...base.workspaces, new: { base_url: 'https://api.example.com', workspace_id: 'THREE' } };
    const trusted = withTrustedSettings({ ...base, workspaces, default_workspace: 'new' }, base);
    const { findings } = checkProject(trusted, { root: '/none', local: undefined, file: 'voxform.yaml', env: {} });
    expect(findings).toEqual([]);
  });
});
