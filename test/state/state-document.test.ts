import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { emptyDocument, fold } from '../../src/state/fold.ts';
import { stateDocument } from '../../src/state/state-document.ts';
import { creating, saved, stateText } from './temporary-state.ts';

const document = fold(
  emptyDocument({ lineage: 'L1', salt: 'S1' }, 'W1', '0.0.0'),
  [saved('a'), creating('b')].map((event, index) => ({
    lineage: 'L1',
    serial: 0,
    sequence: index + 1,
    at: '2030',
    event,
  })),
).toDocument({ serial: 1, voxform_version: '0.0.0', write: 'w' });
const written = JSON.parse(stateText(document));
const isState = new Ajv2020({ strict: false }).compile(z.toJSONSchema(stateDocument()));

describe('JSON Schema of the state', () => {
  it('accepts written states', () => {
    expect(isState(written), JSON.stringify(isState.errors)).toBe(true);
  });

  it.each([
    { reason: 'an unknown key', value: { ...written, secret: 1 } },
    { reason: 'a newer format', value: { ...written, format_version: 3 } },
    { reason: 'a record without an id', value: { ...written, resources: { 'Agent/a': { recorded: {} } } } },
    { reason: 'a serial that is not a count', value: { ...written, serial: -1 } },
    { reason: 'a document without a digest', value: document },
  ])('refuses $reason', ({ value }) => {
    expect(isState(value)).toBe(false);
  });
});
