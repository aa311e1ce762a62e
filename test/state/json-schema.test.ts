import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { stateText } from '../../src/state/document-text.ts';
import { emptyDocument, fold } from '../../src/state/fold.ts';
import { stateJsonSchema } from '../../src/state/json-schema.ts';
import { creating, saved } from './temporary-state.ts';

const document = fold(
  emptyDocument({ lineage: 'L1', salt: 'S1' }, 'W1', '0.0.0'),
  [saved('a'), creating('b')].map((event, index) => ({
    lineage: 'L1',
    serial: 0,
    sequence: index + 1,
    at: '2030',
    event,
  })),
).toDocument(1, '0.0.0');
const isState = new Ajv2020({ strict: false }).compile(stateJsonSchema());

describe('the JSON Schema of the state', () => {
  it('takes what is written', () => {
    expect(isState(JSON.parse(stateText(document))), JSON.stringify(isState.errors)).toBe(true);
  });

  it.each([
    { reason: 'an unknown key', value: { ...document, secret: 1 } },
    { reason: 'a newer format', value: { ...document, format_version: 2 } },
    { reason: 'a record without an id', value: { ...document, resources: { 'Agent/a': { recorded: {} } } } },
    { reason: 'a serial that is no count', value: { ...document, serial: -1 } },
  ])('refuses $reason', ({ value }) => {
    expect(isState(value)).toBe(false);
  });
});
