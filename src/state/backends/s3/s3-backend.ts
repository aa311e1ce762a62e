import type { StateBackend } from '../backend.ts';
import { siblingsOf } from '../bucket/bucket.ts';
import { createBucketStore } from '../bucket/bucket-store.ts';
import { withWorkspace } from '../settings.ts';
import { type S3Location, type S3Settings, s3Settings } from './s3-settings.ts';

export const s3: StateBackend<S3Settings, S3Location> = {
  settings: s3Settings,
  description: 'Backend of the state: s3, a bucket of Amazon S3 or of a compatible store.',
  locationSetting: 'key',
  locate: (settings, { workspace, source }) => ({
    ...settings,
    key: withWorkspace(settings.key, workspace),
    siblings: siblingsOf(settings.key),
    isFetched: source !== undefined,
  }),
  keyOf: ({ endpoint, bucket, key }) => `${endpoint === undefined ? '' : new URL(endpoint).href} ${bucket} ${key}`,
  describe: ({ bucket, key }) => `s3://${bucket}/${key}`,
  open: (location, user) =>
    createBucketStore({
      ...{ name: 's3', backend: s3, settings: location, user },
      async open(at, location) {
        const { S3Bucket } = await import('./s3-bucket.ts');
        return new S3Bucket(at, location, user);
      },
    }),
};
