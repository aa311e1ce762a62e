import { describe, expect, it } from 'vitest';
import type { Resource } from '../../src/manifests/resource.ts';
import { actionsIn, at, Bench, outcomes } from './bench.ts';
import { agent, number, user } from './resources.ts';

/** Applies a plan some time after it was made, with a change in between. */
async function applyLate(
  bench: Bench,
  desired: readonly Resource[],
  { seconds, meanwhile }: { seconds: number; meanwhile?: () => unknown },
): Promise<Record<string, string>> {
  const report = await bench.apply(desired, {
    async between() {
      bench.time += seconds * 1000;
      bench.requests();
      await meanwhile?.();
    },
  });
  return outcomes(report);
}

const methods = (bench: Bench) => bench.emulator.requests.map(({ method }) => method).join(' ');

describe('a list of several pages', () => {
  it('causes no duplicate if it shrinks while it is read', async () => {
    let deleted: string | undefined;
    const bench = await Bench.open(
      { cursors: 'position', pages: { most: 20 } },
      {
        onRequest: ({ path }) => {
          if (deleted !== undefined && path.includes('cursor=')) bench.emulator.dashboard.remove('numbers', deleted);
          if (path.includes('cursor=')) deleted = undefined;
          return undefined;
        },
      },
    );
    for (let index = 0; index < 22; index++) await bench.client.numbers.create({ number: `+49301${100 + index}` });
    const [first, ...others] = bench.emulator.world.numbers.values();
    deleted = first?.id;
    const moved = others[19]?.number ?? '';
    const desired = [number('moved', { number: moved }), number('new', { number: '+49302' })];
    const report = await bench.apply(desired);
    expect(outcomes(report)).toMatchObject({ 'PhoneNumber/new': 'done' });
    expect([...bench.emulator.world.numbers.values()].filter((each) => each.number === moved)).toHaveLength(1);
    expect(actionsIn(await bench.plan(desired))).toEqual(['adopt PhoneNumber/moved']);
  });
});

describe('a delayed plan', () => {
  it('is applied without another read within a minute', async () => {
    const bench = await Bench.applied([agent('a')]);
    const result = await applyLate(bench, [agent('a', { name: 'b' })], { seconds: 60 });
    expect([result['Agent/a'], methods(bench)]).toEqual(['done', 'PUT']);
  });

  it('is read again before each PUT after more than a minute', async () => {
    const bench = await Bench.applied([agent('a'), agent('b')]);
    const desired = [agent('a', { name: 'x' }), agent('b', { name: 'y' })];
    const result = await applyLate(bench, desired, { seconds: 61 });
    expect(Object.values(result)).toEqual(['done', 'done']);
    expect(methods(bench).split(' ').sort().join(' ')).toBe('GET GET PUT PUT');
  });

  it('lists users once for all updates', async () => {
    const bench = await Bench.open();
    const names = ['ada', 'bob', 'cyd'];
    for (const name of names) bench.emulator.dashboard.inviteUser({ email: `${name}@example.com`, role: 'member' });
    const desired = names.map((name) => user(name, { role: 'developer' }));
    await applyLate(bench, desired, { seconds: 61 });
    expect(methods(bench)).toBe('GET PUT PUT PUT');
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
  });

  it('does not overwrite a record that was changed or removed', async () => {
    const bench = await Bench.applied(['a', 'b', 'c', 'd'].map((name) => agent(name)));
    const id = async (name: string) => (await bench.state()).resources.get(`Agent/${name}`)?.id ?? '';
    const [a, b] = [await id('a'), await id('b')];
    const d = await bench.idOf('Agent/d');
    const desired = ['a', 'b', 'c', 'd'].map((name) => agent(name, { name: `${name}2` }));
    const result = await applyLate(bench, desired, {
      seconds: 61,
      meanwhile: () => {
        bench.emulator.dashboard.edit('agents', a, { llm_config: { max_tokens: 9 } });
        bench.emulator.dashboard.remove('agents', b);
        bench.emulator.dashboard.edit('agents', d, { name: 'theirs' });
      },
    });
    expect(result).toEqual({
      'Agent/a': 'failed: Agent/a changed since the plan was made',
      'Agent/b': 'failed: Agent/b changed since the plan was made',
      'Agent/c': 'done',
      'Agent/d': 'failed: Agent/d changed since the plan was made',
    });
    expect(bench.writes).toHaveLength(1);
    expect(bench.emulator.world.agents.get(d)?.name).toBe('theirs');
    const [change] = at(await bench.plan(desired), 'Agent/d').changes;
    expect(change).toMatchObject({ path: 'name', cause: 'both', before: 'theirs' });
  });

  it('still uses the published version in place of hidden fields', async () => {
    const bench = await Bench.open({ put: 'replace', shows: { read: [], update: [] } });
    const { id } = await bench.client.agents.create({ name: 'a', tts_config: { speed: 'slow', voice_id: 'v' } });
    bench.emulator.dashboard.publishAgent(id);
    const desired = [agent('a', { tts_config: { speed: 'fast' } }, { id })];
    expect(await applyLate(bench, desired, { seconds: 61 })).toEqual({ 'Agent/a': 'done' });
    expect(bench.emulator.world.agents.get(id)?.tts_config).toEqual({ speed: 'fast', voice_id: 'v' });
  });

  it('creates its records', async () => {
    const bench = await Bench.open();
    const desired = [number('n', { number: '+49301' }), agent('a')];
    expect(await applyLate(bench, desired, { seconds: 600 })).toEqual({ 'Agent/a': 'done', 'PhoneNumber/n': 'done' });
  });

  it('does not create a record that another person created, and lists once', async () => {
    const bench = await Bench.open();
    const desired = [number('a', { number: '+12025550120' }), number('b', { number: '+12025550121' })];
    const result = await applyLate(bench, desired, {
      seconds: 61,
      meanwhile: async () => {
        await bench.client.numbers.create({ number: '12025550120' });
        bench.requests();
      },
    });
    expect(result).toMatchObject({ 'PhoneNumber/b': 'done' });
    expect(result['PhoneNumber/a']).toContain('exists');
    expect(methods(bench)).toBe('GET POST');
    expect(bench.emulator.world.numbers.size).toBe(2);
    expect(actionsIn(await bench.plan(desired))).toEqual(['adopt PhoneNumber/a']);
  });
});
