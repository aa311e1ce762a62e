import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { kinds } from '../../src/kinds/index.ts';
import { projectJsonSchema } from '../../src/project/project-json-schema.ts';
import { PLAIN_PROJECT } from './temporary-project.ts';

const validate = new Ajv2020({ strict: true, allowUnionTypes: true, formats: { uri: true } }).compile(
  projectJsonSchema(kinds.values()),
);

const FULL = `version: 1
manifests: ["manifests/**/*.yaml", "!manifests/old/**"]
default_workspace: staging
workspaces:
  staging:
    base_url: { $env: BASE, default: http://localhost:1 }
    workspace_id: 01J
    api_key: { $env: KEY }
    secrets_dir: secrets
    vars: { company: Acme, key: { $secret: K }, words: [a, { $file: x.md }] }
    patches: { Agent/a: { llm_config: { temperature: 0.2, model: null } } }
    skip: [PhoneNumber/*]
    state: { backend: local, path: .voxform/staging.state.json }
defaults: { Agent: { stt_config: { provider: { $var: company } } }, PhoneNumber: { nickname: x } }
limits: { concurrency: 16, requests_per_second: null, timeout_seconds: 30 }
guards: { max_changed_percent: 50, min_resources: 10 }
`;

describe('JSON Schema of the project file', () => {
  it.each([
    { reason: 'a minimal file', text: PLAIN_PROJECT },
    { reason: 'a complete file', text: FULL },
    { reason: 'an automatic concurrency', text: FULL.replace('concurrency: 16', 'concurrency: auto') },
  ])('accepts $reason', ({ text }) => {
    expect([validate(parse(text)), validate.errors]).toEqual([true, null]);
  });

  it.each([
    { reason: 'a misspelled key', text: `${PLAIN_PROJECT}defualts: {}\n` },
    { reason: 'a literal API key', text: PLAIN_PROJECT.replace('{ $secret: PLATFORM_KEY }', 'sk-1') },
    {
      reason: 'a base URL as secret',
      text: FULL.replace('{ $env: BASE, default: http://localhost:1 }', '{ $secret: X }'),
    },
    { reason: 'no workspace id', text: PLAIN_PROJECT.replace('workspace_id', 'id') },
    { reason: 'another version', text: PLAIN_PROJECT.replace('version: 1', 'version: 2') },
    { reason: 'a misspelled default', text: FULL.replace('stt_config', 'sst_config') },
    { reason: 'defaults of an unknown kind', text: FULL.replace('PhoneNumber: {', 'Phone: {') },
    { reason: 'a concurrency of zero', text: FULL.replace('concurrency: 16', 'concurrency: 0') },
    { reason: 'a word as concurrency', text: FULL.replace('concurrency: 16', 'concurrency: fast') },
  ])('refuses $reason', ({ text }) => {
    expect(validate(parse(text))).toBe(false);
  });
});
