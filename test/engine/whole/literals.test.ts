import { expect, it } from 'vitest';
import { actionsOf, manifest, testBench } from './bench.ts';

const tools = [
  { name: 'transfer', parameters: { $type: 'object', inner: { $ref: '#/a', deep: { $x: 1 } } } },
];
const llm_config = { model: 'one', tools: { $literal: tools } };

it('takes keys with a dollar from memory as what they are, where the platform is not read', async () => {
  await using bench = await testBench({ manifests: [manifest('Agent/a', { llm_config })] });
  await bench.apply();
  expect(actionsOf(await bench.plan({ refresh: false }))).toEqual({ 'Agent/a': 'noop' });
});

it('sends keys with a dollar from memory as what they are, where others may move a hidden field', async () => {
  const agent = manifest('Agent/a', { llm_config }, { ignoreDrift: ['llm_config.tools'] });
  await using bench = await testBench({
    manifests: [agent],
    behaviour: { shows: { read: [], update: [] }, put: 'replace' },
  });
  await bench.apply();
  bench.manifests = [{ ...agent, spec: { llm_config: { ...llm_config, model: 'two' } } }];
  await bench.apply();
  expect([...bench.emulator.world.agents.values()].map((each) => each.llm_config)).toEqual([
    { model: 'two', tools },
  ]);
});
