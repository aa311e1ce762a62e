import { z } from 'zod';
import { lazily } from '../../values/lazily.ts';
import { agentRequest } from './agent-records.ts';
import { numberRequest } from './number-records.ts';
import { userRequest } from './user-records.ts';
import { webhookRequest } from './webhook-records.ts';

/** Names of the fields of all requests that write, at any depth. */
const names = lazily(() => {
  const found = new Set<string>();
  for (const request of [agentRequest(), numberRequest(), userRequest(), webhookRequest()])
    collect(request, found);
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

/**
 * The end of a path that an answer names, as far as it consists of fields of requests and indexes; undefined if nothing of it does.
 * An answer may name a value of the request in the place of a field.
 */
export function knownField(path: string): string | undefined {
  const parts = path.split('.');
  const unknown = parts.findLastIndex((part) => !names().has(part) && !/^\d+$/.test(part));
  const known = parts.slice(unknown + 1);
  return known.some((part) => names().has(part)) ? known.join('.') : undefined;
}
