import type { KindSchema } from '../manifests/kind-schema.ts';
import type { PlatformClient } from '../platform/client.ts';
import type { Json, JsonObject } from '../values/json.ts';
import type { LeafPath } from '../values/path.ts';
import type { RecordTable } from './record-table.ts';

export interface ShownRecord {
  readonly id: string;
  readonly workspace_id?: string | null | undefined;
  readonly [field: string]: unknown;
}

/**
 * Everything that is special about one kind. The engine decides. A kind observes, creates and updates, and describes its
 * fields. It must not keep state between calls.
 */
export interface Kind extends KindSchema {
  /** `list` if the platform can list the records, otherwise `get`. Neither may write. */
  list?(client: PlatformClient): AsyncIterable<ShownRecord>;
  get?(client: PlatformClient, id: string): Promise<ShownRecord>;
  readonly table: RecordTable;
  /** Links from records of this kind to others. Only for kinds that can be listed. */
  readonly routes?: Routes;
  /** The natural key of a record, undefined if the record does not show it. Required with `naturalKey`. */
  naturalKeyOf?(record: ShownRecord): string | undefined;
  /**
   * The newest published configuration, for an import whose read hides fields. Undefined if there is none. `ahead`: the record has
   * changed since.
   */
  published?(client: PlatformClient, record: ShownRecord): Promise<PublishedRecord | undefined>;
  /** The published versions of a record, for a kind that has them. */
  readonly versions?: Versions;
  /** Records that mention ids of this kind, for a kind that cannot be listed. Each source is read only as far as needed. */
  readonly mentions?: readonly MentionSource[];
  /** Must send exactly one POST. Absent if the platform has no such endpoint: then `manualCreateStep` is required. */
  create?(client: PlatformClient, body: JsonObject): Promise<ShownRecord>;
  /** Must send exactly one PUT. Absent if the platform has no such endpoint. */
  update?(client: PlatformClient, id: string, body: JsonObject): Promise<ShownRecord>;
  /** Top-level fields of every update, with the desired or the observed value, and whether the API requires them. */
  readonly alwaysSent?: Readonly<Record<string, 'required' | 'optional'>>;
  /** The name of a record for people. The name of its manifest is derived from it. */
  label(record: ShownRecord): string;
  /** The step in the dashboard that creates a record. */
  manualCreateStep?(spec: JsonObject): string;
  /** The step in the dashboard that sets `path` to `after`. */
  manualChangeStep?(change: ManualChange): string;
  /** For a kind whose records may own the workspace. A guard covers changes of owners. */
  readonly ownership?: Ownership;
  /**
   * The harm while two workspaces have this record during a migration, and the step in the dashboard that ends it. Undefined for a record
   * that does no harm. A migration creates records of kinds with this function last.
   */
  inTwoWorkspaces?(record: { readonly id: string; readonly spec: JsonObject }): InTwoWorkspaces | undefined;
  /** For a kind whose writes are drafts until a person publishes them. Requires `published`. */
  readonly publishing?: Publishing;
}

interface Publishing {
  /**
   * Compares the draft with the latest published version, by the times in the record. `unclear`: the record does not show both times, or
   * changed so soon after it was published that publishing may be the change.
   */
  draftStatus(record: ShownRecord): DraftStatus;
  /** The step after the first draft, as a sentence. */
  readonly first: string;
  /** The effect until a later draft is published, as a clause. */
  readonly meanwhile: string;
}

export type DraftStatus = 'never' | 'edited' | 'unclear' | 'current';

interface InTwoWorkspaces {
  /** The harm as a clause. */
  readonly harm: string;
  /** The step as a clause that follows `In the dashboard, `. */
  readonly step: string;
}

/** Links to other records: they show, for example, on which numbers callers will hear a change of an agent. */
export interface Routes {
  /** The noun for a record, e.g. `phone number`. */
  readonly noun: string;
  /** The fields with the id of the other record, each with its word, e.g. `inbound`. Their `refersTo` names its kind. */
  readonly ways: Readonly<Record<LeafPath, string>>;
  /**
   * A field of the other record that names records of this kind, for keys that cannot list them; the field that an item of it
   * contains; and the word for such a link, whose direction is not known.
   */
  readonly named: { readonly field: string; readonly item: string; readonly way: string };
  /** By word: the verb of the other record, as in `answers +12025550120` and `will answer +12025550120`. */
  readonly verbs: Readonly<Record<string, readonly [now: string, then: string]>>;
  /** Identifies the record for a person. Secret fields are missing. */
  label(record: ShownRecord): string;
}

interface Ownership {
  /** The field that decides. */
  readonly field: LeafPath;
  /** True if the record owns the workspace, or would own it with `value` in the field. */
  isOwner(record: ShownRecord, value?: Json): boolean;
}

/** Reads published versions. Must not write. */
export interface Versions {
  /** The field of a call that holds the id of the record. */
  readonly inCalls: string;
  list(client: PlatformClient, id: string): AsyncIterable<VersionShown>;
  /** The record as published in this version. */
  get(client: PlatformClient, id: string, version: number | 'latest'): Promise<ShownRecord>;
}

export interface VersionShown {
  readonly version: number;
  readonly published_at?: string | null | undefined;
  readonly [field: string]: unknown;
}

/** Records that mention others. */
interface MentionSource {
  /** The name of the source in `voxform get`, e.g. `calls`. */
  readonly name: string;
  /** @param since the earliest possible creation of the record; undefined if a few requests are enough. Must not write. */
  read(client: PlatformClient, since: Date | undefined): AsyncIterable<Mention>;
}

/** An id in another record. */
export interface Mention {
  readonly id: string;
  /** The other record, as a clause, e.g. `number +12025550120 is linked to it`. */
  readonly clause: string;
}

export interface PublishedRecord {
  readonly record: ShownRecord;
  readonly ahead: boolean;
}

interface ManualChange {
  readonly path: LeafPath;
  /** Fields that identify the record in the dashboard, e.g. the number. */
  readonly record: JsonObject;
  readonly before: Json | undefined;
  /** Text for a person: a value, or the address of a record that does not exist yet. */
  readonly after: string;
}

/** Records that a `$ref` may name by their name on the platform. They are looked up, never managed. */
export interface Lookup {
  readonly name: string;
  readonly description: string;
  readonly table: RecordTable;
  list(client: PlatformClient): AsyncIterable<LookupRecord>;
  /** The client, with a function applied to this list. */
  listedThrough<C extends PlatformClient>(client: C, through: Through): C;
  /** The step in the dashboard that adds one of this name, as a sentence without a full stop. */
  manualAddStep(name: string): string;
}

type Through = <T extends LookupRecord>(records: AsyncIterable<T>) => AsyncIterable<T>;

export type LookupRecord = { readonly id: string; readonly name?: string | undefined };
