import { expect } from 'vitest';
import { openSession } from '../../../src/state/session.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { creating, saved, sessionOptions } from '../temporary-state.ts';

/** Fails unless a workspace without a state finds the state that its platform workspace has under another name. */
export async function expectSiblingFound(storeOf: (workspace: string) => StateStore, location: string): Promise<void> {
  const fresh = storeOf('renamed');
  expect(await fresh.findOther?.('W1')).toBeUndefined();
  for (const [workspace, workspaceId] of [
    ['staging', 'W1'],
    ['other', 'W2'],
  ] as const) {
    const session = await openSession(storeOf(workspace), sessionOptions({ workspaceId }));
    await session.record(creating('a'));
    await session.record(saved('a'));
    await session.close();
  }
  expect(await fresh.findOther?.('W1')).toEqual({
    location,
    from: expect.stringMatching(/^\{ backend: .*, (key|name): "states\/staging", .*\}$/),
    records: 1,
  });
  expect(await fresh.findOther?.('W3')).toBeUndefined();
}
