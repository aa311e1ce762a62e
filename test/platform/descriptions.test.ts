import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { agentRequest } from '../../src/platform/records/agent-records.ts';
import { numberRequest } from '../../src/platform/records/number-records.ts';
import { userRequest } from '../../src/platform/records/user-records.ts';
import { webhookRequest } from '../../src/platform/records/webhook-records.ts';

/** Returns path and description of each leaf of a request. */
function described(object: z.ZodObject, prefix = ''): [string, string][] {
  return Object.entries(object.shape).flatMap(([key, field]): [string, string][] => {
    const inner = bare(field as z.ZodType);
    return inner instanceof z.ZodObject
      ? described(inner, `${prefix}${key}.`)
      : [[prefix + key, descriptionOf(field as z.ZodType)]];
  });
}

function descriptionOf(schema: z.ZodType): string {
  if (schema.description !== undefined) return schema.description;
  const inner = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable ? schema.unwrap() : undefined;
  return inner === undefined ? '' : descriptionOf(inner as z.ZodType);
}

function bare(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable
    ? bare(schema.unwrap() as z.ZodType)
    : schema;
}

const ALL = [agentRequest, numberRequest, userRequest, webhookRequest].flatMap((each) => described(each()));
const UNDOCUMENTED = /^Presumably .+\.$|\((values|range|form|keys) not documented\)\.$/;

/** Fields for which the API document states more than a name and a type. */
const STATED = [
  ...['name', 'call_config.max_call_duration_ms', 'call_config.ring_duration_ms', 'llm_config.api_key'],
  ...['llm_config.knowledge_base_ids', 'prompt_config.prompt', 'prompt_config.welcome_message'],
  ...['tts_config.voice_id', 'number', 'nickname', 'role', 'modules', 'agent_ids', 'url', 'retries'],
  'timeout',
  'payload.timestamp',
];

describe('description of a field', () => {
  it.each(ALL)('%s contains only documented facts: %s', (path, text) => {
    expect(UNDOCUMENTED.test(text)).toBe(!STATED.includes(path));
  });

  it('has a unit only if the field name has one', () => {
    const units = ALL.filter(([, text]) => /seconds?\b|minutes?\b|percent/.test(text));
    expect(units.map(([path]) => path).filter((path) => !path.endsWith('_ms'))).toEqual([]);
  });
});
