import { describe, expect, it } from 'vitest';
import { verifyWorkspace } from '../../src/kinds/verify-workspace.ts';
import { JointLimit } from '../../src/platform/joint-limit.ts';
import { PlatformError } from '../../src/platform/platform-error.ts';
import { failureOf } from '../state/temporary-state.ts';
import { type ApplyOptions, Bench, outcomes } from './bench.ts';
import { agent, number, user, webhook } from './resources.ts';

const GATEWAY = { status: 503, headers: { 'content-type': 'text/html' }, body: '<h1>down</h1>' };
const HALTED = 'skipped: 3 creates in a row are unknown';
const agents = (count: number) => Array.from({ length: count }, (_, index) => agent(`a${10 + index}`));

function verified(bench: Bench): ApplyOptions {
  return { verifyWorkspace: (client) => verifyWorkspace(client, bench.emulator.workspaceId) };
}

describe('an outage of the platform', () => {
  it.each([
    ['responses with 503', GATEWAY],
    ['cut connections', { cut: 'before' }],
    ['redirects', { status: 308, headers: { location: 'https://elsewhere.example.com/' } }],
    ['responses with a page', { status: 200, body: 'welcome' }],
  ] as const)('with %s from the start causes no unknown creates', async (_, fault) => {
    const bench = await Bench.open();
    bench.emulator.faults.add({ times: 1_000, fault });
    const error = await failureOf(bench.apply([...agents(5), webhook('h')], verified(bench)));
    expect(error).toBeInstanceOf(PlatformError);
    expect(error.message).toMatch(/^GET \/api\/v1\/workspaces\/\S+\/users.*; nothing was written$/);
    expect(bench.writes).toEqual([]);
    const { pending, resources } = await bench.state();
    expect([pending.size, resources.size]).toEqual([0, 0]);
    bench.emulator.faults.clear();
    expect(Object.values(outcomes(await bench.apply([...agents(5), webhook('h')], verified(bench))))).toEqual(
      Array.from({ length: 6 }, () => 'done'),
    );
  });

  it('causes no writes if a plan without reads would replace', async () => {
    const bench = await Bench.applied([webhook('h', { timeout: 5 })]);
    bench.emulator.faults.add({ times: 1_000, fault: GATEWAY });
    const desired = [webhook('h', { timeout: 6 }, { mayReplace: true })];
    await failureOf(bench.apply(desired, { ...verified(bench), refresh: false }));
    expect(bench.writes).toEqual([]);
    expect((await bench.state()).pending.size).toBe(0);
  });

  it('from the tenth create on causes three unknown creates, and the rest is skipped', async () => {
    const bench = await Bench.open();
    const desired = agents(40);
    await bench.apply(desired.slice(0, 10));
    bench.emulator.faults.add({ match: { method: 'POST' }, times: 1_000, fault: GATEWAY });
    const report = await bench.apply(desired, { ...verified(bench), concurrency: 1 });
    expect(report.halted).toBe('3 creates in a row are unknown');
    const results = Object.values(outcomes(report));
    expect(results.filter((result) => result.includes('it may have succeeded'))).toHaveLength(3);
    expect(results.filter((result) => result === HALTED)).toHaveLength(27);
    expect((await bench.state()).pending.size).toBe(3);
    expect(bench.writes).toHaveLength(13);
  });

  it('starts no further requests at any concurrency', async () => {
    const bench = await Bench.open();
    bench.emulator.faults.add({ match: { method: 'POST' }, times: 1_000, fault: GATEWAY });
    await bench.apply(agents(60), { ...verified(bench), concurrency: 8 });
    expect((await bench.state()).pending.size).toBeLessThanOrEqual(3 + 7);
  });
});

describe('a key that may not list users', () => {
  const refused = { status: 403, body: { message: 'no' } };
  const USERS = '/api/v1/workspaces';
  const NUMBERS = '/api/v1/numbers';
  const KNOWLEDGE = '/api/v1/knowledge-bases';
  const reads = (bench: Bench) =>
    bench.emulator.requests.filter(({ method }) => method === 'GET').map(({ path }) => path.split('?')[0]);

  async function refusing(paths: readonly string[], status: 403 | 404 = 403): Promise<Bench> {
    const bench = await Bench.open();
    for (const path of paths) bench.emulator.faults.add({ match: { path }, times: 99, fault: { ...refused, status } });
    return bench;
  }

  it('applies after one read if it may list users', async () => {
    const bench = await Bench.open();
    await bench.apply(agents(1), verified(bench));
    expect(reads(bench)).toEqual([`${USERS}/${bench.emulator.workspaceId}/users`]);
  });

  it.each([
    ['numbers', [USERS], [NUMBERS]],
    ['knowledge bases', [USERS, NUMBERS], [NUMBERS, KNOWLEDGE]],
  ])('applies if it may list %s', async (_, hidden, read) => {
    const bench = await refusing(hidden);
    expect(outcomes(await bench.apply(agents(2), verified(bench)))).toEqual({
      'Agent/a10': 'done',
      'Agent/a11': 'done',
    });
    expect(reads(bench).slice(1)).toEqual(read);
  });

  it('applies nothing if it may list nothing', async () => {
    const bench = await refusing([USERS, NUMBERS, KNOWLEDGE]);
    await expect(bench.apply(agents(2), verified(bench))).rejects.toThrow(/users.*403.*; nothing was written$/);
    expect(bench.writes).toEqual([]);
  });

  it('applies nothing if its numbers belong to another workspace', async () => {
    const bench = await refusing([USERS]);
    const { id } = await bench.client.numbers.create({ number: '+49301' });
    bench.emulator.dashboard.edit('numbers', id, { workspace_id: 'ANOTHER' });
    bench.requests();
    await expect(bench.apply(agents(2), verified(bench))).rejects.toThrow('belongs to workspace ANOTHER');
    expect(bench.writes).toEqual([]);
  });

  it('applies with a 404 only if a record belongs to this workspace', async () => {
    const bench = await refusing([USERS], 404);
    await expect(bench.apply(agents(2), verified(bench))).rejects.toThrow('does not exist or this API key');
    expect(bench.writes).toEqual([]);
    await bench.client.numbers.create({ number: '+49301' });
    expect(Object.values(outcomes(await bench.apply(agents(2), verified(bench))))).toEqual(['done', 'done']);
  });

  it('applies nothing if the alternative list fails', async () => {
    const bench = await refusing([USERS]);
    bench.emulator.faults.add({ match: { path: NUMBERS }, times: 99, fault: GATEWAY });
    await expect(bench.apply(agents(2), verified(bench))).rejects.toThrow(/numbers.*503.*; nothing was written$/);
    expect(bench.writes).toEqual([]);
  });
});

describe('consecutive unknown creates', () => {
  it('are counted across kinds, and stop updates too', async () => {
    const bench = await Bench.open();
    bench.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'admin' });
    bench.emulator.faults.add({ match: { method: 'POST' }, times: 3, fault: { cut: 'after' } });
    const desired = [
      agent('a'),
      number('n', { number: '+49301' }),
      webhook('h'),
      webhook('i'),
      user('ada', { role: 'member' }),
    ];
    const results = Object.values(outcomes(await bench.apply(desired, { concurrency: 1 })));
    expect(results.filter((result) => result.includes('it may have succeeded'))).toHaveLength(3);
    expect(results.slice(3)).toEqual([HALTED, HALTED]);
  });

  it.each([
    ['done', { delayMs: 0 }],
    ['refused', { status: 422, body: { message: 'no' } }],
  ] as const)('are not consecutive if one between them was %s', async (_, between) => {
    const bench = await Bench.open();
    for (const [times, fault] of [
      [2, { cut: 'after' }],
      [1, between],
      [2, { cut: 'after' }],
    ] as const) {
      bench.emulator.faults.add({ match: { method: 'POST' }, times, fault });
    }
    const report = await bench.apply(agents(6), { concurrency: 1 });
    expect(report.halted).toBeUndefined();
    expect(outcomes(report)['Agent/a15']).toBe('done');
  });
});

describe('a request that waits when the run halts', () => {
  /** Sends one request at a time, the next one only after the previous result is recorded. */
  function slowly(bench: Bench) {
    let turns = 0;
    let go: (() => void) | undefined;
    const client = bench.connect({
      requestsPerSecond: 2,
      wait: async () => {
        if (turns === 0) await new Promise<void>((resolve) => (go = resolve));
        else turns--;
      },
    });
    const next = (): void => {
      if (go === undefined) turns++;
      go?.();
      go = undefined;
    };
    return { client, next };
  }

  it.each([
    { reason: '3 creates in a row are unknown', fault: { cut: 'after' }, sent: 3, pending: 3 },
    { reason: 'the platform refuses the API key', fault: { status: 401 }, sent: 1, pending: 0 },
    { reason: 'the run was interrupted', fault: { delayMs: 0 }, sent: 1, pending: 0 },
  ] as const)('is not sent, and causes no unknown create: $reason', async ({ reason, fault, sent, pending }) => {
    const bench = await Bench.open();
    bench.emulator.faults.add({ match: { method: 'POST' }, times: 1_000, fault });
    const stop = new AbortController();
    const { next, ...options } = slowly(bench);
    const finished: string[] = [];
    const report = await bench.apply(agents(8), {
      ...options,
      stop: stop.signal,
      onEvent(event) {
        if (event.type !== 'finished') return;
        finished.push(event.address);
        if (reason === 'the run was interrupted') stop.abort('SIGINT');
        next();
      },
    });
    expect(bench.writes).toHaveLength(sent);
    const skipped = Object.values(outcomes(report)).filter((result) => result === `skipped: ${reason}`);
    expect(skipped).toHaveLength(8 - sent);
    expect([finished.length, new Set(finished).size]).toEqual([8, 8]);
    expect((await bench.state()).pending.size).toBe(pending);
    bench.emulator.faults.clear();
    await bench.apply(agents(8), verified(bench));
    expect(bench.emulator.world.agents.size).toBe(reason.startsWith('3') ? 3 + 5 : 8);
  });

  it('is not sent after a Retry-After pause', async () => {
    const bench = await Bench.open();
    const fault = { status: 429, headers: { 'retry-after': '60' } };
    bench.emulator.faults.add({ match: { method: 'POST' }, times: 1_000, fault });
    const stop = new AbortController();
    const client = bench.connect({
      concurrency: 2,
      wait: () => {
        stop.abort('SIGINT');
        return new Promise(() => undefined);
      },
    });
    const report = await bench.apply(agents(8), { client, stop: stop.signal });
    expect(report.interrupted).toBe('SIGINT');
    expect(new Set(Object.values(outcomes(report)))).toEqual(new Set(['skipped: the run was interrupted']));
    expect(bench.writes.length).toBeLessThanOrEqual(2);
    expect((await bench.state()).pending.size).toBe(0);
  });
});

const mixed = new JointLimit(6);
mixed.isMixed = true;

it.each([
  { limit: 'none', options: { concurrency: 'auto' }, sent: 16 },
  { limit: 'concurrency', options: { concurrency: 4 }, sent: 4 },
  { limit: 'the concurrency of all runs', options: { concurrency: 'auto', shared: new JointLimit(2) }, sent: 2 },
  { limit: 'its half, with other platforms', options: { concurrency: 'auto', shared: mixed }, sent: 3 },
  { limit: 'the rate', options: { concurrency: 'auto', requestsPerSecond: 2 }, sent: 2 },
] as const)(
  'only $sent creates are unknown before the first response, with the limit: $limit',
  async ({ options, sent }) => {
    const all = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    let posts = 0;
    const bench = await Bench.open(
      {},
      {
        onRequest: async ({ method }) => {
          if (method !== 'POST') return undefined;
          if (++posts === sent) all.resolve();
          await answer.promise;
          return undefined;
        },
      },
    );
    const applied = bench.apply(agents(80), { client: bench.connect(options) });
    await all.promise;
    expect([posts, (await bench.state()).pending.size]).toEqual([sent, sent]);
    answer.resolve();
    expect(new Set(Object.values(outcomes(await applied)))).toEqual(new Set(['done']));
  },
);
