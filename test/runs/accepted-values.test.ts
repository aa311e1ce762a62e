import { expect, it } from 'vitest';
import { acceptableValues, valuesOfVersion } from '../../src/runs/accepted-values.ts';
import { Bench } from '../engine/bench.ts';
import { agentKind } from '../engine/pure/facts.ts';
import { agent } from '../engine/resources.ts';

it('accepts no masked value from the platform, which would overwrite the secret', async () => {
  const resource = agent('a', { llm_config: { model: 'm', tools: [{ key: 'k' }] } });
  const w = await Bench.applied([resource]);
  const id = await w.idOf('Agent/a');
  const llm_config = { model: 'other', tools: [{ key: '****' }] };
  w.emulator.dashboard.edit('agents', id, { llm_config });
  const taken = {
    wanted: [{ address: 'Agent/a', path: 'llm_config.model', value: 'other' }],
    refused: [{ address: 'Agent/a', path: 'llm_config.tools', why: expect.stringContaining('mask') }],
  };
  expect(acceptableValues(await w.drift([resource]), [])).toMatchObject(taken);
  const version = { ...resource.spec, id, llm_config };
  expect(valuesOfVersion({ kind: agentKind, resource, version, records: new Map() })).toMatchObject(taken);
});
