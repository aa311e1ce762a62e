import type { LookupNames } from '../manifests/kind-schema.ts';
import type { SpecSources } from '../manifests/layers.ts';
import type { DocumentCache } from '../manifests/parse-cache.ts';
import type { Address, Resource } from '../manifests/resource.ts';
import type { SecretReader } from '../manifests/secret-reader.ts';
import type { Concurrency } from '../platform/concurrency-limit.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import type { StateLocation } from '../state/state-location.ts';
import type { JsonObject } from '../values/json.ts';
import type { Secret, Value } from '../values/value.ts';
import type { Webhook } from './notify-schema.ts';
import type { Policy } from './policy-schema.ts';
import type { PullRequestSettings } from './pull-requests-schema.ts';
import type { ApplyWindow } from './watch-schema.ts';

/** A checked `voxform.yaml`, with the set variables of the environment. */
export interface ProjectConfig {
  readonly root: string;
  /** Absolute path of the folder for state and secrets, if it differs from the root. */
  readonly localRoot?: string;
  /** Relative to the root; undefined if the environment alone defines the project. */
  readonly file: string | undefined;
  readonly manifests: readonly string[];
  readonly defaultWorkspace: string | undefined;
  readonly workspaces: Readonly<Record<string, WorkspaceConfig>>;
  /** By kind: merged under the spec of each manifest. */
  readonly defaults: Readonly<Record<string, JsonObject>>;
  readonly limits: Limits;
  readonly guards: Guards;
  /** Names that may occur in texts as `${name}`; `*` matches any characters. */
  readonly literalVariables: readonly string[];
  /** When watch may apply; always if empty. */
  readonly windows: readonly ApplyWindow[];
  /** The webhooks for notifications of watch. */
  readonly webhooks: readonly Webhook[];
  readonly pullRequests: PullRequestSettings;
  /** The rules for manifests and plans, as written. */
  readonly policies: readonly Policy[];
  readonly documents?: DocumentCache | undefined;
}

export interface WorkspaceConfig {
  readonly name: string;
  /** Normalized: equal for two workspaces of one platform. */
  readonly baseUrl: string;
  readonly workspaceId: string;
  readonly apiKey: Secret;
  readonly vars: Readonly<Record<string, Value>>;
  /** RFC 7396 merge patches on a spec, by address. */
  readonly patches: Readonly<Record<string, JsonObject>>;
  /** By address: records to import. `metadata.id` is used only if this is absent. */
  readonly ids?: Readonly<Record<string, string>> | undefined;
  readonly lookupNames?: LookupNames | undefined;
  /** Globs of addresses that this workspace leaves out. */
  readonly skip: readonly string[];
  /** Dashboard addresses with `{id}`, by the kind's dashboard key. */
  readonly dashboard?: Readonly<Record<string, string>> | undefined;
  /** Trusted PEM certificates, in addition to Node's own. */
  readonly ca?: string | undefined;
  readonly secrets: SecretReader;
  readonly state: StateLocation;
  /** Settings whose variable is not set, such as `base_url` from `STAGING_URL`. They are empty. */
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

/** The resources of the manifests for one workspace, by address. */
export interface Desired {
  readonly resources: readonly Resource[];
  /** Where each part of a spec was written. */
  readonly sources?: ReadonlyMap<Address, SpecSources> | undefined;
  /** Warnings and errors, in the order of `compareDiagnostics`. With an error, the resources must not be used. */
  readonly diagnostics: readonly Diagnostic[];
}
