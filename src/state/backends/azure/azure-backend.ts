import type { StateBackend } from '../backend.ts';
import { siblingsOf } from '../bucket/bucket.ts';
import { createBucketStore } from '../bucket/bucket-store.ts';
import { withWorkspace } from '../settings.ts';
import { type AzureLocation, type AzureSettings, azureSettings } from './azure-settings.ts';

export const azure: StateBackend<AzureSettings, AzureLocation> = {
  settings: azureSettings,
  description: 'Backend of the state: azure, a container of Azure Blob Storage.',
  locationSetting: 'name',
  locate: (settings, { workspace, source }) => ({
    ...settings,
    name: withWorkspace(settings.name, workspace),
    siblings: siblingsOf(settings.name),
    isFetched: source !== undefined,
  }),
  keyOf: ({ account, endpoint, connection_string, container, name }) =>
    `${endpoint ?? account ?? connection_string?.name} ${container} ${name}`,
  describe: ({ container, name }) => `azure://${container}/${name}`,
  open: (location, user) =>
    createBucketStore({
      ...{ name: 'azure', backend: azure, settings: location, user },
      async open(at, location) {
        const { openContainer } = await import('./azure-container.ts');
        return await openContainer(at, location, user);
      },
    }),
};
