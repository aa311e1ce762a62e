import { writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { pushState } from '../../src/state/push.ts';
import { inSession } from '../../src/state/session.ts';
import type { StateDocument } from '../../src/state/state-document.ts';
import { saved, sessionOptions, statePath, storeAt } from './temporary-state.ts';

/**
 * Creates a state with an unknown replacement of a record, and a document that has the record but not the replacement.
 */
async function scene() {
  const path = await statePath();
  const store = storeAt(path);
  const pending = { since: '2030', recorded: {}, replaces: 'id-a' };
  await inSession(store, sessionOptions(), async (session) => {
    await session.record(saved('a'));
    await session.record({ type: 'creating', address: 'Agent/a', pending });
  });
  const { document } = await store.read();
  const push = (force: boolean) => {
    const without = { ...document, pending: {} } as StateDocument;
    const session = sessionOptions();
    return pushState(store, { document: without, force, forced: '', session, naturalKey: () => undefined });
  };
  return { path, store, pending, push };
}

it('refuses a document that drops an unknown replacement', async () => {
  const { push } = await scene();
  await expect(push(false)).rejects.toThrow('drops unknown creates of the state: Agent/a');
});

it('keeps the unknown replacement of a damaged state', async () => {
  const { path, store, pending, push } = await scene();
  await writeFile(path, '{');
  expect((await push(true))?.unknown).toEqual(['Agent/a']);
  expect((await store.read()).document?.pending).toEqual({ 'Agent/a': pending });
});
