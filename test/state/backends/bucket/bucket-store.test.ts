import { expect, it } from 'vitest';
import type { Bucket } from '../../../../src/state/backends/bucket/bucket.ts';
import { createBucketStore } from '../../../../src/state/backends/bucket/bucket-store.ts';
import { s3 } from '../../../../src/state/backends/s3/s3-backend.ts';

it('limits the search for other states, and reports the limit', async () => {
  const bucket: Bucket = {
    get: async () => undefined,
    put: async () => '',
    list: async () => [],
    siblings: async () => Array.from({ length: 201 }, (_, other) => `states/${other}`),
    remove: async () => undefined,
  };
  const warnings: string[] = [];
  const warn = (text: string) => void warnings.push(text);
  const user = { root: '/', host: 'here', user: 'ann', pid: 7, version: '0.0.0', now: () => new Date(), warn };
  const settings = s3.locate({ bucket: 'voices', key: 'states/{workspace}' }, { workspace: 'staging', root: '/' });
  const store = createBucketStore({ name: 's3', backend: s3, settings, user, open: async () => bucket });
  expect(await store.others?.('W1', new AbortController().signal)).toEqual([]);
  expect(warnings).toEqual([expect.stringContaining('200 of 201')]);
});
