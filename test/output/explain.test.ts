import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { kinds, lookups } from '../../src/kinds/index.ts';
import { manifestJsonSchema } from '../../src/manifests/manifest-json-schema.ts';
import { schemaPaths } from '../../src/manifests/schema-fields.ts';
import { explain, explanationText, topicsText } from '../../src/output/explain/explanation.ts';
import { findTopic, topicsOf } from '../../src/output/explain/topics.ts';
import { projectJsonSchema } from '../../src/project/project-json-schema.ts';
import { backends } from '../../src/state/backends/index.ts';
import { plainStyle } from './sample-styles.ts';

const topics = topicsOf(kinds.values(), lookups.values());
const paths = topics.map(({ path }) => path);
const fields = topics.filter(({ about }) => about === 'field' || about === 'metadata');

function explained(path: string) {
  const found = findTopic(topics, path);
  if (!('topic' in found)) throw new Error(`there is no ${path}${found.suggestion}`);
  return explain(found.topic, topics);
}

describe('topics of explain', () => {
  it('include every field of every kind, once', () => {
    const known = [...kinds.values()].flatMap(({ name, spec }) => schemaPaths(spec).map((path) => `${name}.${path}`));
    expect(known.filter((path) => !paths.includes(path))).toEqual([]);
    expect(paths.length).toBe(new Set(paths).size);
  });

  it('describe the meaning and the accepted values', () => {
    for (const topic of topics) {
      const { description, type, path } = explain(topic, topics);
      expect(`${path}: ${description}`).toMatch(/: \S.*\.$/);
      expect(type).not.toBe('');
    }
  });

  it('have an example for every field of a manifest', () => {
    const without = fields.filter((topic) => explain(topic, topics).example === undefined);
    expect(without.map(({ path }) => path)).toEqual([]);
  });

  it('name the backends of a state, with an example', () => {
    const { description, example } = explained('project.state');
    for (const name of Object.keys(backends)) expect(description).toContain(name);
    expect(parse(example ?? '')).toEqual({ state: { backend: 'git' } });
  });

  it('fit the width, except for words that cannot be broken', () => {
    for (const width of [40, 80]) {
      const texts = [
        topicsText(topics, plainStyle(width)),
        ...topics.map((topic) => explanationText(explain(topic, topics), plainStyle(width))),
      ];
      const prose = texts.flatMap((text) => (text.split('Example')[0] ?? '').split('\n').slice(1));
      expect(prose.filter((line) => line.length > width && /\S\s+\S+$/.test(line.trim().slice(0, width)))).toEqual([]);
    }
  });
});

describe('example', () => {
  const ajv = new Ajv2020({ allErrors: true, strict: false, validateFormats: false });

  it.each([...kinds.keys()])('of %s matches its schema', (name) => {
    const kind = kinds.get(name);
    if (kind === undefined) return expect.unreachable();
    const isValid = ajv.compile(manifestJsonSchema(kind));
    const envelope = { apiVersion: 'voxform/v1', kind: name, metadata: { name: 'a' }, spec: {} };
    for (const topic of topics.filter(({ path, about }) => path.split('.')[0] === name || about === 'metadata')) {
      const example: unknown = parse(explain(topic, topics).example ?? '');
      const document = { ...envelope, ...(example as object) };
      const labelled = { ...document, metadata: Object.assign({ name: 'a' }, document.metadata) };
      if (topic.path !== 'metadata.ignore_drift' && topic.path !== 'metadata')
        expect([topic.path, isValid(labelled), isValid.errors]).toEqual([topic.path, true, null]);
    }
  });

  it('of the project file matches its schema', () => {
    const isValid = ajv.compile(projectJsonSchema(kinds.values()));
    const whole: unknown = parse(explained('project').example ?? '');
    for (const topic of topics.filter(({ about }) => about === 'project')) {
      const { example } = explain(topic, topics);
      const isOne = topic.path.includes('<name>.');
      const document = isOne ? whole : { ...(whole as object), ...(parse(example ?? '') as object) };
      isValid(document);
      // One field of an object is missing the other fields that the object needs; at the top, `whole` contains them.
      const errors = (isValid.errors ?? []).filter(
        ({ keyword, instancePath }) => keyword !== 'required' || instancePath === '',
      );
      expect([topic.path, errors]).toEqual([topic.path, []]);
    }
  });

  it('is a list item if its field is one', () => {
    expect(explained('project.watch.windows.cron').example).toBe('watch:\n  windows:\n    - cron: 0 22 * * 1-5\n');
    expect(explained('project.notify.url').example).toBe('notify:\n  - url: { $secret: CHAT_WEBHOOK }\n');
  });
});

describe('lookup of a topic', () => {
  it.each([
    { asked: 'Agent.llm_config.temperature', path: 'Agent.llm_config.temperature' },
    { asked: 'agent.LLM_config', path: 'Agent.llm_config' },
    { asked: 'Agent.spec.name', path: 'Agent.name' },
    { asked: 'Webhook.metadata.labels', path: 'metadata.labels' },
    { asked: 'secret', path: '$secret' },
    { asked: '$env.default', path: '$env.default' },
    { asked: 'voxform.yaml', path: 'project' },
    { asked: 'voxform.yaml.guards.min_resources', path: 'project.guards.min_resources' },
    { asked: 'project.workspaces.production.vars', path: 'project.workspaces.<name>.vars' },
    { asked: 'KnowledgeBase', path: 'KnowledgeBase' },
  ])('by $asked', ({ asked, path }) => {
    expect(explained(asked).path).toBe(path);
  });

  it.each([
    ['notify', 'project.notify'],
    ['watch', 'project.watch'],
    ['notify.url', 'project.notify.url'],
  ])('finds the setting of the project file: %s', (asked, path) => {
    expect(findTopic(topics, asked)).toMatchObject({ topic: { path } });
  });

  it.each([
    { asked: 'Agent.llm_config.tempratur', suggestion: '; did you mean "Agent.llm_config.temperature"?' },
    { asked: 'Agent.temperature', suggestion: '; did you mean "Agent.llm_config.temperature"?' },
    { asked: 'Agents', suggestion: '; did you mean "Agent"?' },
    {
      asked: 'model',
      suggestion: '; did you mean "Agent.llm_config.model", "Agent.stt_config.model" or "Agent.tts_config.model"?',
    },
    { asked: 'project.guard', suggestion: '; did you mean "project.guards"?' },
    { asked: 'constructor', suggestion: '' },
    { asked: '', suggestion: '' },
  ])('fails for $asked', ({ asked, suggestion }) => {
    expect(findTopic(topics, asked)).toEqual({ suggestion });
  });
});

describe('properties of a field', () => {
  it.each([
    { path: 'Agent.llm_config.api_key', flags: { write_only: true } },
    { path: 'Agent.knowledge_base_config.chunks_to_retrieve', flags: { hidden: true } },
    { path: 'Agent.llm_config.knowledge_base_ids', flags: { set: true, refers_to: 'KnowledgeBase' } },
    { path: 'Agent.llm_config.tools', flags: { opaque: true } },
    { path: 'PhoneNumber.number', flags: { immutable: true, natural_key: true } },
    { path: 'PhoneNumber.inbound_agent_id', flags: { manual: true, refers_to: 'Agent' } },
    { path: 'Agent.name', flags: {} },
  ])('are listed for $path', ({ path, flags }) => {
    const explanation = explained(path);
    expect(explanation.flags).toEqual(flags);
    expect(explanation.treatment).toHaveLength(Object.keys(flags).length);
  });

  it('are shown with its type and limits', () => {
    expect(explanationText(explained('Webhook.retries'), plainStyle(80))).toBe(`Webhook.retries  whole number

  Number of retries, 0 to 10.
  Limits: 0 to 10.
  Immutable: a new value needs a new record.

Example

  spec:
    retries: 3
`);
    expect(explained('WorkspaceUser.role')).toMatchObject({ type: 'one of owner, admin, developer, member' });
    expect(explained('PhoneNumber.number')).toMatchObject({ required: true, type: 'text' });
    expect(explained('PhoneNumber.number').limits[0]).toBe('1 to 12 characters');
  });
});
