import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Bench } from '../bench.ts';
import { behaviours, editedWorkspaces, prepare, SECRETS } from './workspaces.ts';

const ignored = fc.record({
  fields: fc.subarray([
    'name',
    'llm_config.model',
    'llm_config.temperature',
    'tts_config.speed',
    'prompt_config.prompt',
  ]),
  answer: fc.constantFrom('kept' as const, 'sent' as const),
});

it('does not resend again and again what the platform ignores, whatever its answers and reads show', async () => {
  await fc.assert(
    fc.asyncProperty(editedWorkspaces, behaviours, ignored, async ({ before, after }, behaviour, ignoredByPut) => {
      await using bench = await Bench.start(behaviour);
      bench.secrets = SECRETS;
      prepare(bench, before);
      await bench.apply(before.manifests);
      bench.emulator.setBehaviour({ ignoredByPut });
      await bench.apply(after);
      // What an answer claimed and reads deny is repaired once.
      if (ignoredByPut.answer === 'sent') await bench.apply(after);
      bench.requests();
      expect((await bench.apply(after)).results.size).toBe(0);
      expect(bench.writes).toEqual([]);
    }),
    { numRuns: 15 },
  );
});
