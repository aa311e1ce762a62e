import type { DocumentCache } from '../manifests/document-cache.ts';
import type { SpecSources } from '../manifests/layers.ts';
import type { Address, Resource } from '../manifests/resource.ts';
import type { SecretReader } from '../manifests/secret-reader.ts';
import type { Concurrency } from '../platform/concurrency-limit.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import type { StatePlace } from '../state/state-place.ts';
import type { JsonObject } from '../values/json.ts';
import type { Secret, Value } from '../values/value.ts';
import type { Webhook } from './notify-schema.ts';
import type { Policy } from './policy-schema.ts';
import type { PullRequestSettings } from './pull-requests-schema.ts';
import type { ApplyWindow } from './watch-schema.ts';

/** A `voxform.yaml`, checked. What it takes from the environment is read in, as far as it is set. */
export interface ProjectConfig {
  /** Absolute path of the project folder. */
  readonly root: string;
  /** Absolute path of the folder for state and secrets, where it is not the root. */
  readonly localRoot?: string;
  /** Relative to the root; undefined where the environment alone makes the project. */
  readonly file: string | undefined;
  readonly manifests: readonly string[];
  readonly defaultWorkspace: string | undefined;
  readonly workspaces: Readonly<Record<string, WorkspaceConfig>>;
  /** By kind: merged under the spec of every manifest of that kind. */
  readonly defaults: Readonly<Record<string, JsonObject>>;
  readonly limits: Limits;
  readonly guards: Guards;
  /** Names that texts may contain as `${name}`, with `*` for any characters. */
  readonly literalVariables: readonly string[];
  /** When watch may apply; at any time where there are none. */
  readonly windows: readonly ApplyWindow[];
  /** The webhooks that watch notifies. */
  readonly webhooks: readonly Webhook[];
  readonly pullRequests: PullRequestSettings;
  /** The rules that manifests and plans must keep, as written. */
  readonly policies: readonly Policy[];
  /** Asked before a manifest is parsed. */
  readonly documents?: DocumentCache | undefined;
}

export interface WorkspaceConfig {
  readonly name: string;
  /** Normalized: two workspaces of one platform have the same text. */
  readonly baseUrl: string;
  readonly workspaceId: string;
  readonly apiKey: Secret;
  readonly vars: Readonly<Record<string, Value>>;
  /** RFC 7396 merge patches on a spec, by address. */
  readonly patches: Readonly<Record<string, JsonObject>>;
  /** By address: existing records to adopt. `metadata.id` counts only where this is absent. */
  readonly ids?: Readonly<Record<string, string>> | undefined;
  /** Address globs of resources that this workspace does not have. */
  readonly skip: readonly string[];
  /** Addresses of records in the dashboard with `{id}`, by the word that their kind has for them. */
  readonly dashboard?: Readonly<Record<string, string>> | undefined;
  /** PEM certificates that are trusted besides Node's own. */
  readonly ca?: string | undefined;
  readonly secrets: SecretReader;
  readonly state: StatePlace;
  /** Settings whose variable is not set, e.g. `base_url` from `STAGING_URL`: they are empty until then. */
  readonly unset?: readonly UnsetSetting[];
}

export interface UnsetSetting {
  readonly setting: 'base_url' | 'workspace_id';
  readonly variable: string;
}

export interface Limits {
  readonly concurrency: Concurrency;
  readonly requestsPerSecond: number | null;
  readonly timeoutSeconds: number;
}

export interface Guards {
  readonly maxChangedPercent: number;
  readonly minResources: number;
}

/** Everything the manifests of a project declare for one workspace. Order: by address. */
export interface Desired {
  readonly resources: readonly Resource[];
  /** Where the parts of each spec were written. */
  readonly sources?: ReadonlyMap<Address, SpecSources> | undefined;
  /** Warnings, and errors: with an error among them the resources must not be used. In the order of `compareDiagnostics`. */
  readonly diagnostics: readonly Diagnostic[];
}
