import type { Environment } from '../manifests/secret-reader.ts';
import { normalizedBaseUrl } from '../platform/base-url.ts';

export interface Overrides {
  readonly workspace: string | undefined;
  readonly baseUrl: string | undefined;
  readonly workspaceId: string | undefined;
  readonly apiKey: string | undefined;
}

/** The settings of a workspace in the environment. An empty variable counts as unset. */
export function overrides(env: Environment): Overrides {
  return {
    workspace: env.VOXFORM_WORKSPACE || undefined,
    baseUrl: normalizedBaseUrl(env.VOXFORM_BASE_URL ?? '') || undefined,
    workspaceId: env.VOXFORM_WORKSPACE_ID || undefined,
    apiKey: env.VOXFORM_API_KEY || undefined,
  };
}
