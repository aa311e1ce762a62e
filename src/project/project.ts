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

/** A checked `voxform.yaml`, with the values of its environment variables. */
export interface ProjectConfig {
  readonly root: string;
  /** Absolute path of the folder for state and secrets, if it differs from the root. */
  readonly localRoot?: string;
  /** The path of the project file relative to the root. Undefined if the environment alone defines the project. */
  readonly file: string | undefined;
  readonly manifests: readonly string[];
  /** The maximum number of values in all manifests together, for a project from an untrusted source. */
  readonly maxValues?: number | undefined;
  /** The maximum number of characters of the resources of one workspace, for a project from an untrusted source. */
  readonly maxCharacters?: number | undefined;
  readonly defaultWorkspace: string | undefined;
  readonly workspaces: Readonly<Record<string, WorkspaceConfig>>;
  /** Default fields of the spec of each manifest, by kind. */
  readonly defaults: Readonly<Record<string, JsonObject>>;
  readonly limits: Limits;
  readonly guards: Guards;
  /** Names that may occur in strings as `${name}`. `*` matches any characters. */
  readonly literalVariables: readonly string[];
  /** The windows in which watch may apply. If empty, watch may always apply. */
  readonly windows: readonly ApplyWindow[];
  /** The webhooks that receive the notifications of watch. */
  readonly webhooks: readonly Webhook[];
  readonly pullRequests: PullRequestSettings;
  /** The rules for manifests and plans, as written. */
  readonly policies: readonly Policy[];
  readonly documents?: DocumentCache | undefined;
}

export interface WorkspaceConfig {
  readonly name: string;
  /** The normalized base URL. Workspaces of the same platform have equal base URLs. */
  readonly baseUrl: string;
  readonly workspaceId: string;
  readonly apiKey: Secret;
  readonly vars: Readonly<Record<string, Value>>;
  /** RFC 7396 merge patches on a spec, by address. */
  readonly patches: Readonly<Record<string, JsonObject>>;
  /** Ids of records to import, by address. If present, `metadata.id` of the manifests is ignored. */
  readonly ids?: Readonly<Record<string, string>> | undefined;
  readonly lookupNames?: LookupNames | undefined;
  /** Globs of addresses that this workspace skips. */
  readonly skip: readonly string[];
  /** Dashboard URLs with `{id}`, by the kind's dashboard key. */
  readonly dashboard?: Readonly<Record<string, string>> | undefined;
  /** Trusted PEM certificates, in addition to those of Node.js. */
  readonly ca?: string | undefined;
  readonly secrets: SecretReader;
  readonly state: StateLocation;
  /** Settings whose environment variable is not set, such as `base_url` from `STAGING_URL`. Their values are empty. */
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

/** The resources of the manifests for one workspace, sorted by address. */
export interface Desired {
  readonly resources: readonly Resource[];
  readonly sources?: ReadonlyMap<Address, SpecSources> | undefined;
  /** Warnings and errors, in the order of `compareDiagnostics`. If there is an error, the resources must not be used. */
  readonly diagnostics: readonly Diagnostic[];
}
