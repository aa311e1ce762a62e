import fc from 'fast-check';
import { expect, it } from 'vitest';
import { returnedConfigs } from '../../../src/emulator/behaviour.ts';
import type { JsonObject } from '../../../src/values/json.ts';
import { Bench, manifest } from '../bench.ts';

type Config = Readonly<Record<string, string>>;
const ROOTS = { llm_config: ['provider', 'model', 'region'], tts_config: ['voice_id', 'speaker', 'speed'] };

const configOf = (keys: readonly string[]) =>
  fc.dictionary(fc.constantFrom(...keys), fc.constantFrom('one', 'two'), { maxKeys: 3 });
const configs = fc.record({ llm_config: configOf(ROOTS.llm_config), tts_config: configOf(ROOTS.tts_config) });

it('an update resends all known values, and warns of objects with values that it may erase', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({ declared: configs, dashboard: configs, read: fc.subarray([...returnedConfigs]) }),
      fc.boolean(),
      async ({ declared, dashboard, read }, hasKey) => {
        const spec = (voice: string): JsonObject => ({
          name: 'A',
          llm_config: { ...declared.llm_config, api_version: voice },
          tts_config: { ...declared.tts_config, emotion: voice },
        });
        await using bench = await Bench.start({ put: 'replace', shows: { read, update: [] } });
        await bench.apply([manifest('Agent/a', spec('calm'))]);
        const [id = ''] = bench.emulator.world.agents.keys();
        // These are only undeclared fields. Others would be drift.
        const theirs = Object.fromEntries(
          Object.entries(dashboard).map(([root, config]: [string, Config]) => [
            root,
            Object.fromEntries(
              Object.entries(config).filter(([key]) => !Object.hasOwn(declared[root as keyof typeof declared], key)),
            ),
          ]),
        );
        const llm = { ...theirs.llm_config, ...(hasKey && { api_key: 'sk-of-the-dashboard' }) };
        bench.emulator.dashboard.edit('agents', id, { ...theirs, llm_config: llm });

        const desired = [manifest('Agent/a', spec('wild'))];
        const warned = (await bench.plan(desired)).warnings.map(({ message }) => message).join();
        await bench.apply(desired);

        const stored = bench.emulator.world.agents.get(id);
        for (const root of ['llm_config', 'tts_config'] as const) {
          const isShown = read.includes(root);
          expect(stored?.[root]).toEqual({ ...(spec('wild')[root] as JsonObject), ...(isShown && theirs[root]) });
          const isErased = !isShown && Object.keys(theirs[root] ?? {}).length > 0;
          if (isErased) expect(warned).toContain(`This resends all of ${root}: `);
        }
        expect(bench.emulator.dashboard.holdsApiKey(id, 'sk-of-the-dashboard')).toBe(false);
        expect(warned).toContain('llm_config.api_key');
      },
    ),
    { numRuns: 30 },
  );
});
