import { describe, expect, it } from 'vitest';
import { kinds } from '../../src/kinds/index.ts';
import { checkSpec } from '../../src/manifests/check-spec.ts';
import { Secret } from '../../src/values/value.ts';

describe('unknown field', () => {
  it('is reported even if its value is a secret', () => {
    const agent = kinds.get('Agent');
    if (agent === undefined) throw new Error('no agents');
    const spec = { name: 'day', llm_config: { api_kye: new Secret('KEY', undefined) } };
    expect(checkSpec(agent, spec, true).problems.map(({ message }) => message)).toEqual([
      'unknown field "api_kye"; did you mean "api_key"?',
    ]);
  });
});
