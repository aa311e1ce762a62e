import type { Context } from 'hono';
import { z } from 'zod';
import { isObject } from '../values/json.ts';
import { trimStrings } from './agent-lifecycle.ts';
import type { EmulatorBehaviour } from './behaviour.ts';
import type { Emulated, EmulatorEnv } from './emulated.ts';
import { type ListPage, type PagedList, type PageRequest, pageOf } from './pagination.ts';
import { type FieldProblem, invalid, notFound, Refusal } from './refusal.ts';

/** Returns the JSON object in a request body, or `{}` without a body. Throws a Refusal for any other body. */
export function bodyOf(c: Context<EmulatorEnv>): Readonly<Record<string, unknown>> {
  const { body } = c.env;
  switch (body.kind) {
    case 'none':
      return {};
    case 'json':
      if (isObject(body.value)) return body.value;
      throw invalid([{ field: '', message: 'The body must be a JSON object' }]);
    case 'not-json':
      throw new Refusal(400, 'The body is not valid JSON');
    case 'wrong-type':
      throw new Refusal(415, 'The body must be sent as application/json');
    case 'too-large':
      throw new Refusal(413, 'The body is too large');
    default:
      throw new Error(body satisfies never);
  }
}

/** Parses the input with the schema. Ignores unknown fields. Throws a 422 for an invalid input. */
export function checked<T>(schema: z.ZodType<T>, input: unknown): T {
  const { error } = schema.safeParse(input);
  return checkedStrictly(schema, error === undefined ? input : withoutUnknownFields(input, error.issues));
}

/** Like `checked`, but also throws a 422 for unknown fields. Used for dashboard routes, which only tests and people call. */
export function checkedStrictly<T>(schema: z.ZodType<T>, input: unknown): T {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  throw invalid(result.error.issues.map(problemOf));
}

function problemOf(issue: z.core.$ZodIssue): FieldProblem {
  const field = issue.path.join('.');
  return { field, message: field === '' ? issue.message : `The ${field} field is invalid: ${issue.message}` };
}

function withoutUnknownFields(input: unknown, issues: readonly z.core.$ZodIssue[]): unknown {
  const copy: unknown = structuredClone(input);
  for (const issue of issues) {
    if (issue.code !== 'unrecognized_keys') continue;
    let container: unknown = copy;
    for (const key of issue.path) container = isContainer(container) ? container[key] : undefined;
    if (isContainer(container)) for (const key of issue.keys) delete container[key];
  }
  return copy;
}

function isContainer(value: unknown): value is Record<PropertyKey, unknown> {
  return typeof value === 'object' && value !== null;
}

export const integerText = z
  .string()
  .regex(/^\d{1,9}$/, { error: 'expected an integer' })
  .transform(Number);

const pageQuery = z.object({
  per_page: integerText.pipe(z.int().min(1).max(100)).optional(),
  cursor: z.string().optional(),
});

/** Returns the body of a write, normalised as configured. Throws a Refusal for an invalid body. */
export function writtenBody<T>(c: Context<EmulatorEnv>, schema: z.ZodType<T>, { normalise }: EmulatorBehaviour): T {
  const body = bodyOf(c);
  return checked(schema, normalise.trim ? trimStrings(body) : body);
}

export function requireWorkspace({ world }: Emulated, id: string): void {
  if (id !== world.workspaceId) throw notFound('Workspace');
}

export function pageIn<T>(
  c: Context<EmulatorEnv>,
  listing: PagedList<T>,
  { items, emulated }: { readonly items: Iterable<T>; readonly emulated: Emulated },
): ListPage<T> {
  return pageOf(items, listing, { request: pageRequestOf(c), behaviour: emulated.behaviour });
}

export function pageRequestOf(c: Context<EmulatorEnv>): PageRequest {
  return checked(pageQuery, c.req.query());
}
