import { z } from 'zod';
import { about, lazyStrictObject } from '../../../values/described.ts';
import { type BucketLocation, objectKey, storeEndpoint } from '../bucket/bucket.ts';
import { secretSetting } from '../settings.ts';

export const azureSettings = lazyStrictObject(() => ({
  account: z
    .string()
    .regex(/^[a-z0-9]{3,24}$/, { error: 'expected the name of a storage account' })
    .meta(about('Name of the storage account.', 'acmevoxform'))
    .optional(),
  container: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/, { error: 'expected the name of a container' })
    .meta(about('Name of the container.', 'states')),
  name: objectKey(
    'Name of the state in the container, with {workspace} for the name of the workspace. Its blobs are below that name.',
  ),
  endpoint: storeEndpoint(
    'Address of the account in another cloud; default: https://ACCOUNT.blob.core.windows.net.',
    'https://acmevoxform.blob.core.usgovcloudapi.net',
  ).optional(),
  connection_string: secretSetting({
    description: 'Connection string of the account, as { $secret: NAME } or { $env: NAME }. Plain text is refused.',
    examples: [{ $secret: 'STATE_CONNECTION' }],
  }).optional(),
  sas_token: secretSetting({
    description: 'Shared access signature, as { $secret: NAME } or { $env: NAME }. Plain text is refused.',
    examples: [{ $secret: 'STATE_SAS' }],
  }).optional(),
}));

export type AzureSettings = Readonly<z.infer<ReturnType<typeof azureSettings>>>;

export type AzureLocation = AzureSettings & BucketLocation;
