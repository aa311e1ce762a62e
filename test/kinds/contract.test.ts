import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { kinds, lookups } from '../../src/kinds/index.ts';
import type { Kind } from '../../src/kinds/kind.ts';
import type { FieldRule } from '../../src/manifests/kind-schema.ts';

const all = [...kinds.values()];

/** The schema at a path of a spec, whatever is optional or nullable on the way. */
function schemaAt(kind: Kind, path: string): z.ZodType | undefined {
  let schema: z.ZodType = kind.spec;
  for (const key of path.split('.')) {
    if (!(schema instanceof z.ZodObject)) return undefined;
    const next: unknown = schema.shape[key];
    if (!(next instanceof z.ZodType)) return undefined;
    schema = bare(next);
  }
  return schema;
}

function bare(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return bare(schema.unwrap() as z.ZodType);
  return schema;
}

/** Every leaf that a manifest can have, as far as the schema knows. */
function leavesOf(schema: z.ZodType, path = ''): string[] {
  if (!(schema instanceof z.ZodObject)) return [path];
  return Object.entries(schema.shape).flatMap(([key, inner]) =>
    leavesOf(bare(inner as z.ZodType), path === '' ? key : `${path}.${key}`),
  );
}

function fieldsWith(kind: Kind, applies: (rule: FieldRule) => boolean): [string, FieldRule][] {
  return Object.entries(kind.fields).filter(([, rule]) => applies(rule));
}

describe('the register of kinds', () => {
  it('has every kind under its own name, and no name twice', () => {
    for (const [name, kind] of kinds) expect(kind.name).toBe(name);
    for (const [name, lookup] of lookups) expect(lookup.name).toBe(name);
    expect([...kinds.keys()].filter((name) => lookups.has(name))).toEqual([]);
    expect([...kinds.keys()]).toEqual(['Agent', 'PhoneNumber', 'Webhook', 'WorkspaceUser']);
  });
});

describe.each(all)('the kind $name', (kind) => {
  it('is found in one way: by a list or by its id', () => {
    expect([kind.list, kind.get].filter((each) => each !== undefined)).toHaveLength(1);
  });

  it('tells records apart by a natural key in manifests and in lists, or in neither', () => {
    expect(kind.recordKey === undefined).toBe(kind.naturalKey === undefined);
    if (kind.naturalKey !== undefined) expect(kind.list).toBeDefined();
  });

  it('can be created, or says how a person does it', () => {
    expect([kind.create, kind.createByHand].filter((each) => each !== undefined)).toHaveLength(1);
  });

  it('looks for mentions only where no list shows the records', () => {
    if (kind.list !== undefined) expect(kind.mentions).toBeUndefined();
    if (kind.published !== undefined) expect(kind.get).toBeDefined();
  });

  it('gives rules to fields that exist', () => {
    const missing = Object.keys(kind.fields).filter((path) => schemaAt(kind, path) === undefined);
    expect(missing).toEqual([]);
  });

  it('gives rules that go together', () => {
    for (const [path] of fieldsWith(kind, (rule) => rule.set === true))
      expect(schemaAt(kind, path), path).toBeInstanceOf(z.ZodArray);
    for (const [path, rule] of Object.entries(kind.fields)) {
      expect(rule.immutable && rule.manual, `${path}: immutable, or moved by hand`).toBeFalsy();
      if (rule.notAtCreate) expect(rule.manual, `${path}: who sets it then?`).toBe(true);
      if (rule.refersTo !== undefined)
        expect(kinds.has(rule.refersTo) || lookups.has(rule.refersTo), path).toBe(true);
    }
  });

  it('says how a person changes what only a person can change', () => {
    const manual = fieldsWith(kind, (rule) => rule.manual === true);
    expect(manual.length > 0).toBe(kind.changeByHand !== undefined);
    for (const [path] of manual) {
      const step = kind.changeByHand?.({ path, record: {}, before: undefined, after: 'the-new-value' });
      expect(step).toContain('the-new-value');
      expect(step).toMatch(/^In the dashboard, .*\.$/);
    }
  });

  it('has an update exactly where some field can be updated', () => {
    const writable = leavesOf(kind.spec).filter((leaf) => {
      const rule = kind.fields[leaf] ?? kind.fields[leaf.split('.')[0] ?? ''];
      return !rule?.immutable && !rule?.manual;
    });
    expect(writable.length > 0).toBe(kind.update !== undefined);
  });

  it('sends with every update only fields that an update takes', () => {
    for (const field of kind.alwaysSent ?? []) {
      expect(Object.keys(kind.spec.shape)).toContain(field);
      expect(kind.fields[field]?.immutable ?? kind.fields[field]?.manual).toBeUndefined();
    }
    if (kind.missingForUpdate !== undefined) expect(kind.alwaysSent).toBeDefined();
  });

  it('never changes what makes its natural key', () => {
    const sample = { number: '+4930', email: 'ada@example.com' };
    const key = kind.naturalKey?.(sample);
    if (kind.naturalKey === undefined) return;
    expect(key).toBeDefined();
    expect(kind.fields[key?.field ?? '']?.immutable).toBe(true);
  });

  it('normalises to a form that stays as it is', () => {
    const samples = ['+49 (30) 12-34', '0049301234', '  Ada@Example.COM ', 'https://EXAMPLE.com', 'x', ''];
    for (const [path, { normalise }] of fieldsWith(kind, (rule) => rule.normalise !== undefined)) {
      for (const sample of samples) {
        const once = normalise?.(sample);
        expect(normalise?.(once), `${path} of ${sample}`).toEqual(once);
      }
    }
  });

  it('describes itself in a sentence', () => {
    expect(kind.description).toMatch(/^[A-Z].*\.$/);
  });
});
