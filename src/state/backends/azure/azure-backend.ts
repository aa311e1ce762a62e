import { z } from 'zod';
import { about, lazyStrictObject } from '../../../values/described.ts';
import type { StateBackend } from '../backend.ts';
import { objectKey, siblingsOf, storeEndpoint } from '../bucket/bucket.ts';
import { createBucketStore } from '../bucket/bucket-store.ts';
import { flowMapping, secretSetting, withWorkspace } from '../settings.ts';
import type { AzureLocation } from './azure-container.ts';

const settings = lazyStrictObject(() => ({
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
  connection_string: secretSetting('connection_string', {
    description: 'Connection string of the account, as { $secret: NAME } or { $env: NAME }, never as text.',
    examples: [{ $secret: 'STATE_CONNECTION' }],
  }).optional(),
  sas_token: secretSetting('sas_token', {
    description: 'Shared access signature, as { $secret: NAME } or { $env: NAME }, never as text.',
    examples: [{ $secret: 'STATE_SAS' }],
  }).optional(),
}));

export const azure: StateBackend<z.infer<ReturnType<typeof settings>>, AzureLocation> = {
  settings,
  description: 'Backend of the state: azure, a container of Azure Blob Storage.',
  locationSetting: 'name',
  place: ({ name, connection_string, sas_token, ...settings }, { workspace, source }) => ({
    account: settings.account,
    container: settings.container,
    name: withWorkspace(name, workspace),
    siblings: siblingsOf(name),
    endpoint: settings.endpoint,
    connectionString: connection_string,
    sasToken: sas_token,
    isFetched: source !== undefined,
  }),
  keyOf: ({ account, endpoint, connectionString, container, name }) =>
    `${endpoint ?? account ?? connectionString?.name} ${container} ${name}`,
  locationOf: ({ container, name }) => `azure://${container}/${name}`,
  open(place, user) {
    const containerOf = (at: AzureLocation) => ({
      location: azure.locationOf(at, user.root),
      async open() {
        const { openContainer } = await import('./azure-container.ts');
        return await openContainer(at, azure.locationOf(at, user.root), user);
      },
    });
    const sibling = (name: string) => ({
      ...containerOf({ ...place, name }),
      from: flowMapping({
        backend: 'azure',
        account: place.account,
        container: place.container,
        name,
        endpoint: place.endpoint,
        connection_string: place.connectionString,
        sas_token: place.sasToken,
      }),
    });
    return createBucketStore({ ...containerOf(place), setting: 'state.name', user, sibling });
  },
};
