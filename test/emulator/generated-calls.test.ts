import { describe, expect, it } from 'vitest';
import { type EmulatorOptions, startEmulator } from '../../src/emulator/start-emulator.ts';
import { call } from './call.ts';

const calls = {
  perDay: 40,
  days: 5,
  versions: { '2': { session_outcome: { escalated: 1 }, duration: 30 } },
};

async function published(times: number, options: EmulatorOptions = {}) {
  const emulator = await startEmulator({ seed: 1, behaviour: { calls }, ...options });
  await call(emulator, ['POST', '/api/v1/agents', { name: 'a' }]);
  const [id = ''] = emulator.world.agents.keys();
  for (let time = 0; time < times; time++) emulator.dashboard.publishAgent(id);
  return { emulator, id, generatedCalls: [...emulator.world.records.calls.values()] };
}

describe('calls after a publication', () => {
  it('belong to its version, in the days before the next one', async () => {
    const { emulator, id, generatedCalls } = await published(2);
    await using _ = emulator;
    expect(generatedCalls).toHaveLength(400);
    const [first, second] = emulator.world.agents.get(id)?.versions ?? [];
    const border = Date.parse(second?.published_at ?? '');
    const [before, after] = [generatedCalls.slice(0, 200), generatedCalls.slice(200)];
    for (const { start_time } of before) {
      expect(Date.parse(start_time)).toBeGreaterThanOrEqual(Date.parse(first?.published_at ?? ''));
      expect(Date.parse(start_time)).toBeLessThan(border);
    }
    expect(after.every(({ start_time }) => Date.parse(start_time) >= border)).toBe(true);
    expect(new Set(before.map(({ session_outcome }) => session_outcome)).size).toBe(3);
    expect(new Set(after.map(({ session_outcome }) => session_outcome))).toEqual(new Set(['escalated']));
    expect(border - Date.parse(first?.published_at ?? '')).toBeGreaterThanOrEqual(5 * 86_400_000);
  });

  it('are equal for the same seed, and differ for another seed', async () => {
    const [one, same, other] = [await published(1), await published(1), await published(1, { seed: 2 })];
    for (const { emulator } of [one, same, other]) await emulator.close();
    expect(same.generatedCalls).toEqual(one.generatedCalls);
    expect(other.generatedCalls).not.toEqual(one.generatedCalls);
  });

  it('advance the clock of the emulator', async () => {
    const { emulator, id } = await published(1, { seed: undefined });
    await using _ = emulator;
    const { updated_at: edited } = emulator.dashboard.edit('agents', id, { name: 'b' });
    expect(Date.parse(edited)).toBeGreaterThan(Date.now() + 4 * 86_400_000);
  });

  it('are only generated on request, and need weights', async () => {
    const { emulator, generatedCalls } = await published(1, { behaviour: {} });
    await using _ = emulator;
    expect(generatedCalls).toEqual([]);
    const refused = await call(emulator, [
      'PUT',
      '/__emulator/behaviour',
      { calls: { perDay: 1, session_outcome: { escalated: 0 } } },
    ]);
    expect(refused.status).toBe(422);
  });
});
