import { z } from 'zod';
import { nearestCandidate, suggestion } from '../problems/suggest.ts';
import { about, describedObject } from '../values/described.ts';
import { isObject, type Json } from '../values/json.ts';
import { type Problem, quoted } from './finding.ts';
import { problemsIn } from './issue-messages.ts';
import type { KindSchema } from './kind-schema.ts';
import { NAME_PATTERN, NAME_RULE } from './resource.ts';
import { schemaPaths, suggestField } from './schema-fields.ts';

export const API_VERSION = 'voxform/v1';

const resourceName = z.string().regex(NAME_PATTERN, { error: NAME_RULE });

export const recordId = () => z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]*$/, { error: 'expected a record id' });

/** The part of a manifest that describes the resource. It is never sent to the platform. */
export const metadataSchema = describedObject('Name and settings of the resource in this project.', {
  name: resourceName.meta({
    description:
      'Name of the resource in this project, unique within its kind: up to 63 lower-case letters, digits and hyphens.',
    examples: ['support-line'],
  }),
  labels: z
    .record(z.string().min(1, { error: 'a label needs a name' }), z.string())
    .meta(about('Labels for --selector. They are not sent to the platform.', { team: 'support' }))
    .optional(),
  id: recordId()
    .meta(about('Id of an existing record to import instead of creating one.', '01JEMV1AT0AGENT00000000001'))
    .optional(),
  previous_names: z
    .array(resourceName)
    .meta(about('Earlier names of the resource, so that it keeps its record after a rename.', ['old-name']))
    .optional(),
  ignore_drift: z
    .array(z.string().min(1))
    .meta({
      description: 'Fields of the spec that others may change on the platform, such as `tts_config.speed`.',
      examples: [['tts_config.speed']],
    })
    .optional(),
  replace: z
    .literal('allow')
    .describe('Allows replacing the record. The old one stays until you delete it in the dashboard.')
    .optional(),
});

/** The schema of a manifest of any kind. `manifestSchema` adds the fields of the spec. */
export const envelopeSchema = z.strictObject({
  apiVersion: z.literal(API_VERSION).describe('Format of the manifest.'),
  kind: z.string().describe('Kind of the resource.'),
  metadata: metadataSchema,
  spec: z.record(z.string(), z.unknown()).describe('The managed fields, named as in the API.'),
});

/** Returns the schema of a complete manifest of one kind, without value forms. */
export function manifestSchema(kind: KindSchema) {
  return envelopeSchema.extend({
    kind: z.literal(kind.name).describe(kind.description),
    spec: kind.spec.describe('The managed fields, named as in the API. Omitted fields are not managed.'),
  });
}

export type Metadata = z.infer<typeof metadataSchema>;

/** A document with a known kind and usable metadata. */
interface Envelope {
  readonly kind: KindSchema;
  readonly metadata: Metadata;
  /** The spec as written, before its value forms are evaluated. */
  readonly spec: Json;
}

export interface KnownNames {
  readonly kinds: ReadonlyMap<string, KindSchema>;
  /** Kinds that can be referred to, but not declared. */
  readonly lookups: ReadonlyMap<string, unknown>;
}

interface EnvelopeResult {
  /** Undefined if the kind or the name is missing. No reference can name such a document. */
  readonly envelope: Envelope | undefined;
  readonly problems: readonly Problem[];
}

/** Checks the fields outside the spec of a manifest. The envelope is usable despite minor problems. */
export function readEnvelope(document: Json, known: KnownNames): EnvelopeResult {
  if (!isObject(document)) {
    const message = 'a manifest must be an object with apiVersion, kind, metadata and spec';
    return { envelope: undefined, problems: [{ code: 'wrong-type', message, path: [], at: 'value' }] };
  }
  const kindName = typeof document.kind === 'string' ? document.kind : undefined;
  const kind = kindName === undefined ? undefined : (known.kinds.get(kindName) ?? suggestedKind(kindName, known));
  // The spec is checked later, with the schema of its kind. A check here would only copy the spec.
  const spec = isObject(document.spec) ? {} : document.spec;
  const { success: isValid, error } = envelopeSchema.safeParse({ ...document, spec });
  const problems = problemsIn(error, { schema: envelopeSchema, value: document, name: 'the manifest' });
  if (kindName !== undefined && !known.kinds.has(kindName))
    problems.push({ code: 'unknown-kind', ...unknownKind(kindName, known), path: ['kind'], at: 'value' });
  const metadata = isValid ? (document.metadata as Metadata) : usableMetadata(document.metadata);
  if (kind !== undefined && metadata !== undefined) {
    for (const problem of ignoreDriftProblems(metadata, kind)) problems.push(problem);
  }
  const explained = kind === undefined ? problems : problems.map((problem) => explainMisplacedField(problem, kind));
  if (kind === undefined || metadata === undefined) return { envelope: undefined, problems: explained };
  return { envelope: { kind, metadata, spec: document.spec as Json }, problems: explained };
}

/** Returns a message such as `unknown kind "Agnet"; did you mean "Agent"?`, for a `kind` field or a key that names a kind. */
export function unknownKind(name: string, { kinds, lookups }: KnownNames): Pick<Problem, 'message' | 'fix'> {
  if (lookups.has(name)) return { message: `${name} can only be referenced; manifests cannot declare it` };
  const { text, fix } = suggestion(name, kinds.keys());
  return {
    message: `unknown kind ${quoted(name)}${text || `; kinds: ${[...kinds.keys()].join(', ')}`}`,
    fix,
  };
}

/** Returns the kind that a misspelled name probably means, so that references still resolve and the spec is still checked. */
function suggestedKind(name: string, { kinds, lookups }: KnownNames): KindSchema | undefined {
  return lookups.has(name) ? undefined : kinds.get(nearestCandidate(name, kinds.keys()) ?? '');
}

/** Returns the valid part of the metadata, so that one mistake does not hide others. */
function usableMetadata(raw: unknown): Metadata | undefined {
  const parsed = metadataSchema.safeParse(raw);
  if (parsed.success) return parsed.data;
  if (!isObject(raw)) return undefined;
  const invalidKeys = new Set(parsed.error.issues.map((issue) => issue.path[0]));
  const valid: Record<string, unknown> = {};
  for (const key of Object.keys(metadataSchema.shape)) {
    if (Object.hasOwn(raw, key) && !invalidKeys.has(key)) valid[key] = raw[key];
  }
  // An invalid name is kept, so that references to it resolve and the spec is still checked.
  const name = typeof raw.name === 'string' && raw.name !== '' ? raw.name : undefined;
  const usable = metadataSchema.safeParse({ ...valid, ...(name !== undefined && { name: 'stand-in' }) }).data;
  return usable && { ...usable, ...(name !== undefined && { name }), ...listsIn(raw) };
}

/** Returns the lists of the metadata. Items that are not texts become empty, so that the others keep their places. */
function listsIn({
  previous_names,
  ignore_drift,
}: Readonly<Record<string, unknown>>): Pick<Metadata, 'previous_names' | 'ignore_drift'> {
  const texts = (list: readonly unknown[]) => list.map((item) => (typeof item === 'string' ? item : ''));
  return {
    ...(Array.isArray(previous_names) && { previous_names: texts(previous_names) }),
    ...(Array.isArray(ignore_drift) && { ignore_drift: texts(ignore_drift) }),
  };
}

function ignoreDriftProblems({ ignore_drift = [] }: Metadata, kind: KindSchema): Problem[] {
  const paths = schemaPaths(kind.spec);
  return ignore_drift.flatMap((path, index) => {
    if (path === '' || paths.includes(path)) return [];
    const near = path.includes('.') ? suggestion(path, paths) : suggestField(kind.spec, [], path);
    const message = `${kind.name} has no field ${quoted(path)}${near.text}`;
    const at = ['metadata', 'ignore_drift', index];
    return [{ code: 'unknown-field', message, path: at, at: 'value' as const, fix: near.fix }];
  });
}

/** Explains the most common mistake: a field of the spec that is next to `spec` instead of under it. */
function explainMisplacedField(problem: Problem, kind: KindSchema): Problem {
  const [key] = problem.path;
  if (problem.code !== 'unknown-field' || problem.path.length > 1 || typeof key !== 'string') return problem;
  if (!Object.hasOwn(kind.spec.shape, key)) return problem;
  const message = `unknown field ${quoted(key)}; it belongs under spec`;
  return { ...problem, message, fix: undefined };
}
