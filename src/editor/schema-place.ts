import { fleetJsonSchema } from '../fleet/fleet-schema.ts';
import { kinds } from '../kinds/index.ts';
import { metadataSchema } from '../manifests/envelope.ts';
import { type DocumentPath, follow } from '../manifests/finding.ts';
import { allManifestsJsonSchema, manifestJsonSchema, plainSchema } from '../manifests/manifest-json-schema.ts';
import { policyFileSchema } from '../project/policy-schema.ts';
import { projectJsonSchema } from '../project/project-json-schema.ts';
import { specInProject } from '../project/project-schema.ts';
import { isObject, type Json, type JsonObject } from '../values/json.ts';
import { lazy } from '../values/lazy.ts';
import type { FileRole } from './snapshot.ts';

/** The kind of the spec that contains a path, and the path inside the spec. */
interface SpecPlace {
  readonly kind: string;
  readonly path: DocumentPath;
}

/** Returns undefined outside of specs and in specs of unknown kinds. */
export function specPlace(role: FileRole, value: Json, at: DocumentPath): SpecPlace | undefined {
  if (role === 'manifest' && at[0] === 'spec') {
    const kind = isObject(value) ? value.kind : undefined;
    return typeof kind === 'string' && kinds.has(kind) ? { kind, path: at.slice(1) } : undefined;
  }
  const spec = role === 'project' ? specInProject(at) : undefined;
  return spec !== undefined && kinds.has(spec.kind) ? spec : undefined;
}

/** Returns the address that a manifest declares. */
export function ownAddress(value: Json): string | undefined {
  if (!isObject(value) || !isObject(value.metadata)) return undefined;
  return `${String(value.kind)}/${String(value.metadata.name)}`;
}

interface SchemaField {
  readonly name: string;
  readonly description: string;
  /** The alternative schemas of the field's value. */
  readonly takes: readonly JsonObject[];
}

/** The values that the JSON Schema of a file allows at a path. */
export class SchemaPlace {
  readonly #root: JsonObject;
  readonly #path: DocumentPath;
  readonly #value: Json;

  constructor(role: FileRole, value: Json, at: DocumentPath) {
    const spec = specPlace(role, value, at);
    this.#root = spec === undefined ? schemaOf(role, value) : projectSchema();
    this.#path = spec === undefined ? at : ['defaults', spec.kind, ...spec.path];
    // The existing value is also needed, because one key of an object can restrict the others.
    this.#value = spec === undefined ? value : movePart(value, at.slice(0, at.length - spec.path.length), this.#path);
  }

  /** The alternative schemas of the value. */
  get takes(): readonly JsonObject[] {
    return this.#found.flatMap((schema) => this.#alternatives(schema));
  }

  get examples(): readonly Json[] {
    const all = [...this.#found, ...this.takes];
    return all.flatMap((schema) => (isObject(schema) && Array.isArray(schema.examples) ? schema.examples : []));
  }

  /** The fields of the object, including the keys of a value form. */
  get fields(): readonly SchemaField[] {
    const found = new Map<string, SchemaField>();
    const { depth, value } = follow(this.#value, this.#path);
    for (const { properties } of matchingAlternatives(this.takes, depth === this.#path.length ? value : undefined)) {
      if (!isObject(properties)) continue;
      const form = Object.keys(properties).find((key) => key.startsWith('$'));
      const isForm = form !== undefined && isObject(value) && Object.hasOwn(value, form);
      for (const [name, schema] of Object.entries(properties as JsonObject)) {
        // Optional keys of a value form are offered only if its main key exists.
        if (form !== undefined && form !== name && !isForm) continue;
        const takes = this.#alternatives(schema);
        const description = String((isObject(schema) && schema.description) || takes[0]?.description || '');
        if (!found.has(name)) found.set(name, { name, description, takes });
      }
    }
    return [...found.values()];
  }

  /** The schemas at the path, before their alternatives are resolved. */
  get #found(): readonly Json[] {
    let schemas: readonly Json[] = [this.#root];
    for (const [depth, part] of this.#path.entries()) {
      const all = schemas.flatMap((schema) => this.#alternatives(schema));
      const matching = matchingAlternatives(all, follow(this.#value, this.#path.slice(0, depth)).value);
      schemas = matching.flatMap((schema) => partSchema(schema, part) ?? []);
    }
    return schemas;
  }

  #alternatives(schema: Json | undefined): JsonObject[] {
    if (!isObject(schema)) return [];
    const { $ref, anyOf, oneOf } = schema as JsonObject;
    if (typeof $ref === 'string') {
      const { value } = follow(this.#root, $ref.slice(2).split('/'));
      return this.#alternatives(value as Json);
    }
    const inner = anyOf ?? oneOf;
    if (!Array.isArray(inner)) return [schema as JsonObject];
    return inner.flatMap((each: Json) => this.#alternatives(each));
  }
}

function partSchema(schema: JsonObject, part: string | number): Json | undefined {
  if (typeof part === 'number') return schema.items;
  const { properties, additionalProperties } = schema;
  return isObject(properties) && Object.hasOwn(properties, part) ? (properties[part] as Json) : additionalProperties;
}

/** Returns the alternatives that match the existing keys, such as the schema of the git backend for `backend: git`. */
function matchingAlternatives(schemas: readonly JsonObject[], written: unknown): readonly JsonObject[] {
  if (!isObject(written)) return schemas;
  const keys = Object.keys(written);
  const matching = schemas.filter(({ properties }) => {
    if (!isObject(properties)) return true;
    const form = Object.keys(properties).find((key) => key.startsWith('$'));
    if (form !== undefined) return keys.every((key) => Object.hasOwn(properties, key) || written[key] === null);
    if (keys.some((key) => key.startsWith('$') && written[key] !== null)) return false;
    return keys.every((key) => {
      const only = isObject(properties[key]) ? properties[key].const : undefined;
      return only === undefined || written[key] === null || only === written[key];
    });
  });
  return matching.length > 0 ? matching : schemas;
}

/** Returns a new value in which the part of `value` at `from` is under the first two keys of `to`. */
function movePart(value: Json, from: DocumentPath, to: DocumentPath): Json {
  const { depth, value: part } = follow(value, from);
  const found = depth === from.length ? (part as Json) : null;
  return to.slice(0, 2).reduceRight<Json>((inner, key) => ({ [key]: inner }), found);
}

const projectSchema = lazy(() => projectJsonSchema(kinds.values()));
const fleetSchema = lazy(fleetJsonSchema);
const policiesSchema = lazy(() => plainSchema(policyFileSchema()));
const anyManifest = lazy((): JsonObject => {
  const schema = allManifestsJsonSchema(kinds.values());
  return {
    ...schema,
    properties: { ...(schema.properties as JsonObject), metadata: plainSchema(metadataSchema) },
  };
});
const schemasByKind = new Map<string, JsonObject>();

function schemaOf(role: FileRole, value: Json): JsonObject {
  switch (role) {
    case 'project':
      return projectSchema();
    case 'fleet':
      return fleetSchema();
    case 'policies':
      return policiesSchema();
    case 'manifest':
      return manifestSchemaOf(isObject(value) ? value.kind : undefined);
    default:
      return role satisfies never;
  }
}

function manifestSchemaOf(name: unknown): JsonObject {
  const kind = typeof name === 'string' ? kinds.get(name) : undefined;
  if (kind === undefined) return anyManifest();
  const known = schemasByKind.get(kind.name) ?? { ...manifestJsonSchema(kind) };
  schemasByKind.set(kind.name, known);
  return known;
}
