/** @module-tag long */

import { describe, expect, it } from 'vitest';
import { openSession, readState } from '../../../../src/state/session.ts';
import { creating, lockRequest, saved, sessionOptions } from '../../temporary-state.ts';
import { type Fate, TcpProxy } from '../tcp-proxy.ts';
import { freshDatabase, storeIn } from './databases.ts';
import { postgresServer } from './postgres-server.ts';

const recorded = () => sessionOptions({ lock: lockRequest({ isStep: false }) });

/** Simulates a run whose connection is lost at one piece of data. @returns the number of pieces that were forwarded. */
async function runLosing(url: string, name: string, { nth, fate }: { readonly nth: number; readonly fate: Fate }) {
  await using proxy = await TcpProxy.start((await postgresServer()).port);
  let pieces = 0;
  proxy.fate = () => (++pieces === nth ? fate : undefined);
  const address = new URL(url);
  address.port = String(proxy.port);
  const store = await storeIn(address.href, { name });
  const session = await openSession(store, recorded());
  await Promise.all(['a', 'b'].map((each) => session.record(creating(each))));
  await Promise.all(['a', 'b'].map((each) => session.record(saved(each))));
  await session.record(creating('c'));
  await session.close();
  return pieces;
}

describe('lost connection', () => {
  it.each(['lost', 'passed'] as const)('loses and repeats nothing, at any position: %s', async (fate) => {
    const { url, sql } = await freshDatabase();
    // Creates the schema, as the very first run does.
    const whole = await runLosing(url, 'whole', { nth: 0, fate: undefined });
    expect(whole).toBeGreaterThan(20);
    const cuts = Array.from({ length: whole }, (_, index) => index + 1);
    await Promise.all(cuts.map((nth) => runLosing(url, `cut-${nth}`, { nth, fate })));
    for (const nth of cuts) {
      const store = await storeIn(url, { name: `cut-${nth}` });
      const state = await readState(store, recorded());
      expect([...state.resources.keys()], `cut at ${nth}`).toEqual(['Agent/a', 'Agent/b']);
      expect([...state.pending.keys()], `cut at ${nth}`).toEqual(['Agent/c']);
      expect(await store.holder()).toBeUndefined();
      expect(await store.history()).toMatchObject([{ command: 'apply', result: 'done' }]);
    }
    const histories = await sql('SELECT name, count(*)::integer AS lines FROM voxform.history GROUP BY name');
    expect(histories.filter(({ lines }) => lines !== 2)).toEqual([]);
  });
});
