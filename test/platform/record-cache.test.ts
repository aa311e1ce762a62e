import { expect, it } from 'vitest';
import { createClient } from '../../src/platform/http-client.ts';
import { RecordCache } from '../../src/platform/record-cache.ts';
import { listenHttp } from './listen.ts';
import { failureFrom, openTransport } from './open-transport.ts';

const agent = (name: string, more: object = {}) => ({ data: { id: '01A', name, ...more } });

/** Reads the same agent in rounds, one for each response of the server. */
async function readings(...answers: readonly unknown[]) {
  const memory = new RecordCache();
  const { url } = await listenHttp((_request, response, count) => {
    const answer = answers[count - 1];
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? { message: 'no such agent' }));
  });
  return {
    memory,
    round() {
      memory.beginRound();
      const { transport } = openTransport({ baseUrl: url });
      return createClient({ transport, workspaceId: 'own', cache: memory });
    },
  };
}

it('returns the same record for a response with the same bytes, and parses every other one', async () => {
  const { round } = await readings(agent('a'), agent('a'), agent('b'), agent('a'));
  const first = await round().agents.get('01A');
  expect(await round().agents.get('01A')).toBe(first);
  expect(await round().agents.get('01A')).toMatchObject({ name: 'b' });
  const last = await round().agents.get('01A');
  expect(last).toEqual(first);
  expect(last).not.toBe(first);
});

it('hides no response that is an error or follows one', async () => {
  const { round } = await readings(agent('a'), undefined, { data: 'gone' }, agent('b'));
  await round().agents.get('01A');
  expect(await failureFrom(round().agents.get('01A'))).toMatchObject({ status: 404, isMissing: true });
  expect(await failureFrom(round().agents.get('01A'))).toMatchObject({ reason: 'malformed' });
  expect(await round().agents.get('01A')).toMatchObject({ name: 'b' });
});

it('checks the workspace of its records in each round', async () => {
  const foreign = agent('a', { workspace_id: 'other' });
  const { round } = await readings(foreign, foreign);
  for (const client of [round(), round()]) {
    await client.agents.get('01A');
    expect(() => client.workspaceCheck.refuseWrongWorkspace()).toThrow('other');
  }
});

it('forgets records that a whole round did not request', async () => {
  const { memory, round } = await readings(agent('a'), agent('a'));
  const first = await round().agents.get('01A');
  expect(await round().agents.get('01A')).toBe(first);
  memory.beginRound();
  memory.beginRound();
  expect(memory.get('/api/v1/agents/01A')).toBeUndefined();
});
