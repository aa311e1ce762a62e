import { z } from 'zod';
import { about, lazyStrictObject } from '../../../values/described.ts';
import type { StateBackend } from '../backend.ts';
import { objectKey, siblingsOf, storeEndpoint } from '../bucket/bucket.ts';
import { createBucketStore } from '../bucket/bucket-store.ts';
import { flowMapping, secretSetting, secretTextSetting, withWorkspace } from '../settings.ts';
import type { S3Location } from './s3-bucket.ts';

const text = (description: string, example: string) => z.string().min(1).meta(about(description, example));

const settings = lazyStrictObject(() => ({
  bucket: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, { error: 'expected the name of a bucket' })
    .meta(about('Name of the bucket.', 'acme-voxform')),
  key: objectKey(
    'Key of the state in the bucket, with {workspace} for the name of the workspace. Its objects are below that key.',
  ),
  region: text('Region of the bucket; default: that of the AWS settings.', 'eu-central-1').optional(),
  endpoint: storeEndpoint('Address of a store other than Amazon S3.', 'https://s3.example.com').optional(),
  path_style: z
    .boolean()
    .meta(about('Write the bucket into the path instead of the host; default: false.', true))
    .optional(),
  profile: text('Profile of the shared AWS settings.', 'voxform').optional(),
  access_key_id: secretTextSetting(z.string().min(1), {
    description: 'Access key; default: the credentials that the AWS SDK finds.',
    examples: [{ $secret: 'STATE_ACCESS_KEY_ID' }],
  }).optional(),
  secret_access_key: secretSetting('secret_access_key', {
    description: 'Secret of the access key, as { $secret: NAME } or { $env: NAME }, never as text.',
    examples: [{ $secret: 'STATE_SECRET_ACCESS_KEY' }],
  }).optional(),
  session_token: secretSetting('session_token', {
    description: 'Session token of the access key, as { $secret: NAME } or { $env: NAME }, never as text.',
    examples: [{ $secret: 'STATE_SESSION_TOKEN' }],
  }).optional(),
  sse: z
    .enum(['AES256', 'aws:kms'])
    .meta(about('Encryption by the server; default: that of the bucket.', 'aws:kms'))
    .optional(),
  kms_key_id: text('Key for the encryption aws:kms.', 'alias/voxform').optional(),
}));

export const s3: StateBackend<z.infer<ReturnType<typeof settings>>, S3Location> = {
  settings,
  description: 'Backend of the state: s3, a bucket of Amazon S3 or of a compatible store.',
  locationSetting: 'key',
  place: ({ key, ...settings }, { workspace, source }) => ({
    bucket: settings.bucket,
    key: withWorkspace(key, workspace),
    siblings: siblingsOf(key),
    region: settings.region,
    endpoint: settings.endpoint,
    pathStyle: settings.path_style ?? false,
    profile: settings.profile,
    accessKeyId: settings.access_key_id,
    secretAccessKey: settings.secret_access_key,
    sessionToken: settings.session_token,
    sse: settings.sse,
    kmsKeyId: settings.kms_key_id,
    isFetched: source !== undefined,
  }),
  keyOf: ({ endpoint, bucket, key }) => `${endpoint === undefined ? '' : new URL(endpoint).href} ${bucket} ${key}`,
  locationOf: ({ bucket, key }) => `s3://${bucket}/${key}`,
  open(place, user) {
    const bucketOf = (at: S3Location) => ({
      location: s3.locationOf(at, user.root),
      async open() {
        const { S3Bucket } = await import('./s3-bucket.ts');
        return new S3Bucket(at, s3.locationOf(at, user.root), user);
      },
    });
    const sibling = (key: string) => ({ ...bucketOf({ ...place, key }), from: settingsText({ ...place, key }) });
    return createBucketStore({ ...bucketOf(place), setting: 'state.key', user, sibling });
  },
};

/** As in the project file. */
function settingsText(place: S3Location): string {
  return flowMapping({
    backend: 's3',
    bucket: place.bucket,
    key: place.key,
    region: place.region,
    endpoint: place.endpoint,
    path_style: place.pathStyle || undefined,
    profile: place.profile,
    access_key_id: place.accessKeyId,
    secret_access_key: place.secretAccessKey,
    session_token: place.sessionToken,
    sse: place.sse,
    kms_key_id: place.kmsKeyId,
  });
}
