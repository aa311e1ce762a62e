import { z } from 'zod';
import { about, lazyStrictObject } from '../../../values/described.ts';
import { type BucketLocation, objectKey, storeEndpoint } from '../bucket/bucket.ts';
import { secretSetting, secretTextSetting } from '../settings.ts';

const text = (description: string, example: string) => z.string().min(1).meta(about(description, example));

export const s3Settings = lazyStrictObject(() => ({
  bucket: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, { error: 'expected the name of a bucket' })
    .meta(about('Name of the bucket.', 'acme-voxform')),
  key: objectKey(
    'Prefix of the keys of the state in the bucket. {workspace} is replaced by the name of the workspace.',
  ),
  region: text('Region of the bucket; default: the region in the AWS configuration.', 'eu-central-1').optional(),
  endpoint: storeEndpoint('Address of a store other than Amazon S3.', 'https://s3.example.com').optional(),
  path_style: z
    .boolean()
    .meta(about('Put the name of the bucket into the path instead of the host name; default: false.', true))
    .optional(),
  profile: text('Profile in the shared AWS configuration files.', 'voxform').optional(),
  access_key_id: secretTextSetting(z.string().min(1), {
    description: 'Access key; default: the credentials that the AWS SDK finds.',
    examples: [{ $secret: 'STATE_ACCESS_KEY_ID' }],
  }).optional(),
  secret_access_key: secretSetting({
    description: 'Secret access key, as { $secret: NAME } or { $env: NAME }. Plain text is refused.',
    examples: [{ $secret: 'STATE_SECRET_ACCESS_KEY' }],
  }).optional(),
  session_token: secretSetting({
    description:
      'Session token of temporary credentials, as { $secret: NAME } or { $env: NAME }. Plain text is refused.',
    examples: [{ $secret: 'STATE_SESSION_TOKEN' }],
  }).optional(),
  sse: z
    .enum(['AES256', 'aws:kms'])
    .meta(about('Server-side encryption; default: the encryption of the bucket.', 'aws:kms'))
    .optional(),
  kms_key_id: text('KMS key for aws:kms encryption.', 'alias/voxform').optional(),
}));

export type S3Settings = Readonly<z.infer<ReturnType<typeof s3Settings>>>;

export type S3Location = S3Settings & BucketLocation;
