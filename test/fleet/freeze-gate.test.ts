import { expect, it } from 'vitest';
import { FreezeGate } from '../../src/fleet/freeze-gate.ts';
import type { Freeze } from '../../src/fleet/rows/freeze-rows.ts';

const freeze: Freeze = { at: '2030-01-02T12:00:00.000Z', by: 'ann', because: 'incident 7' };

/** Returns a gate, and a database that responds after this many milliseconds. */
function gateWith({ takes = 0 }: { readonly takes?: number } = {}) {
  const world = { now: 0, freeze: undefined as Freeze | undefined, asked: 0, changes: [] as (Freeze | undefined)[] };
  const gate = new FreezeGate({
    async current() {
      world.asked++;
      world.now += takes;
      return world.freeze;
    },
    now: () => world.now,
    onChange: (changed) => void world.changes.push(changed),
  });
  return { world, gate };
}

it('blocks all writes one second after the freeze, regardless of the last query', async () => {
  const { world, gate } = gateWith();
  expect(gate.mayWrite).toBe(false);
  await gate.renew();
  expect(gate.mayWrite).toBe(true);
  const began = gate.frozen;
  expect(began.aborted).toBe(false);
  world.freeze = freeze;
  world.now += 999;
  expect(gate.mayWrite).toBe(false);
  await expect(gate.renew()).rejects.toThrow('frozen by ann');
  expect([gate.mayWrite, world.changes]).toEqual([false, [freeze]]);
  expect(gate.frozen.reason).toMatchObject({ by: 'ann', because: 'incident 7' });
  world.freeze = undefined;
  await gate.check();
  expect([gate.mayWrite, world.changes]).toEqual([true, [freeze, undefined]]);
  expect([began.aborted, gate.frozen.aborted]).toEqual([true, false]);
});

it('shares one query between callers, and gives up if each query is too slow', async () => {
  const { world, gate } = gateWith();
  await Promise.all([gate.renew(), gate.renew(), gate.check()]);
  expect(world.asked).toBe(1);
  const slow = gateWith({ takes: 1000 });
  await expect(slow.gate.renew()).rejects.toThrow('too slowly');
  expect(slow.gate.mayWrite).toBe(false);
});
