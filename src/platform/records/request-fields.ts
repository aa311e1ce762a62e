import { z } from 'zod';
import { lazy } from '../../values/lazy.ts';
import { agentRequest } from './agent-records.ts';
import { numberRequest } from './number-records.ts';
import { userRequest } from './user-records.ts';
import { webhookRequest } from './webhook-records.ts';

/** Returns the field names of all write requests, at any depth. */
const names = lazy(() => {
  const found = new Set<string>();
  for (const request of [agentRequest(), numberRequest(), userRequest(), webhookRequest()]) collect(request, found);
  return found;
});

function collect(schema: unknown, found: Set<string>): void {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) collect(schema.unwrap(), found);
  if (!(schema instanceof z.ZodObject)) return;
  for (const [name, inner] of Object.entries(schema.shape)) {
    found.add(name);
    collect(inner, found);
  }
}

/** Returns the longest suffix of an error's path that names request fields, because an error may contain a value of the request. */
export function knownField(path: string): string | undefined {
  const parts = path.split('.');
  const unknown = parts.findLastIndex((part) => !names().has(part) && !/^\d+$/.test(part));
  const known = parts.slice(unknown + 1);
  return known.some((part) => names().has(part)) ? known.join('.') : undefined;
}
