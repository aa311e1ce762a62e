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

/** One kind. It only reads, creates and updates records, and describes their fields. It must not keep state between calls. */
export interface Kind extends KindSchema {
  /** A kind has `list` if the platform can list its records, otherwise `get`. Neither may write. */
  list?(client: PlatformClient): AsyncIterable<ShownRecord>;
  get?(client: PlatformClient, id: string): Promise<ShownRecord>;
  readonly table: RecordTable;
  /** Links from records of this kind to other records. Only for kinds that can be listed. */
  readonly routes?: Routes;
  /** Returns the natural key of a record; undefined if the record does not contain the key. Required with `naturalKey`. */
  naturalKeyOf?(record: ShownRecord): string | undefined;
  /** Returns the latest published version of a record; undefined if there is none. The version may have fields that the record lacks. */
  published?(client: PlatformClient, record: ShownRecord): Promise<PublishedRecord | undefined>;
  /** Reads the published versions of records. Absent if the kind has no versions. */
  readonly versions?: Versions;
  /** Sources of records that mention ids of this kind, for a kind without `list`. Each source is read only as far as needed. */
  readonly mentions?: readonly MentionSource[];
  /** Must send exactly one POST. Absent if the platform has no such endpoint; then `manualCreateStep` is required. */
  create?(client: PlatformClient, body: JsonObject): Promise<ShownRecord>;
  /** Must send exactly one PUT. Absent if the platform has no such endpoint. */
  update?(client: PlatformClient, id: string, body: JsonObject): Promise<ShownRecord>;
  /** The top-level fields that every update sends, and whether the API requires them. The observed value is sent if none is desired. */
  readonly alwaysSent?: Readonly<Record<string, 'required' | 'optional'>>;
  /** Returns the display name of a record. `export` derives the name of the manifest from this name. */
  label(record: ShownRecord): string;
  /** Returns the dashboard step that creates a record, as a sentence. */
  manualCreateStep?(spec: JsonObject): string;
  /** Returns the dashboard step that sets `path` to `after`, as a sentence. */
  manualChangeStep?(change: ManualChange): string;
  /** Present if records of this kind may own the workspace. A guard stops changes of owners. */
  readonly ownership?: Ownership;
  /**
   * Describes the harm while both workspaces of a migration have this record, and the dashboard step that ends the harm; undefined if there
   * is no harm. A migration creates the records of kinds with this function last.
   */
  inTwoWorkspaces?(record: { readonly id: string; readonly spec: JsonObject }): InTwoWorkspaces | undefined;
  /** Present if writes are drafts until a person publishes them. Requires `published`. */
  readonly publishing?: Publishing;
}

interface Publishing {
  /**
   * Compares the draft with the latest published version by the times in the record. `unclear` means that the record lacks one of the
   * times, or changed so soon after it was published that publishing may have caused the change.
   */
  draftStatus(record: ShownRecord): DraftStatus;
  /** The next step after the first draft, as a sentence. */
  readonly first: string;
  /** The situation until a later draft is published, as a clause. */
  readonly meanwhile: string;
}

export type DraftStatus = 'never' | 'edited' | 'unclear' | 'current';

interface InTwoWorkspaces {
  /** The harm as a clause. */
  readonly harm: string;
  /** The step as a clause that follows `In the dashboard, `. */
  readonly step: string;
}

/** Links to other records. They show, for example, which numbers reach a changed agent. */
export interface Routes {
  /** The noun for a record, e.g. `phone number`. */
  readonly noun: string;
  /** The fields with the id of the other record, and a word for each link, e.g. `inbound`. `refersTo` is the kind of the other record. */
  readonly ways: Readonly<Record<LeafPath, string>>;
  /** The reverse link, for API keys that cannot list records of this kind. */
  readonly named: {
    /** The field of the other record that names records of this kind. */
    readonly field: string;
    /** If the items in `field` are plain values, the field of a record of this kind that contains the same value. */
    readonly item: string;
    /** The word for a link of unknown direction. */
    readonly way: string;
  };
  /** The verbs by word, for clauses about the other record, e.g. `answers +12025550120` and `will answer +12025550120`. */
  readonly verbs: Readonly<Record<string, readonly [now: string, then: string]>>;
  /** Returns a name that identifies the record for a person. The given record has no secret fields. */
  label(record: ShownRecord): string;
}

interface Ownership {
  /** The field that makes a record an owner. */
  readonly field: LeafPath;
  /** True if the record owns the workspace, or would own it with `value` in the field. */
  isOwner(record: ShownRecord, value?: Json): boolean;
}

/** Reads published versions. Must not write. */
export interface Versions {
  /** The field of a call that contains the id of the record. */
  readonly inCalls: string;
  list(client: PlatformClient, id: string): AsyncIterable<RecordVersion>;
  /** Returns the record as published in this version. */
  get(client: PlatformClient, id: string, version: number | 'latest'): Promise<ShownRecord>;
}

export interface RecordVersion {
  readonly version: number;
  readonly published_at?: string | null | undefined;
  readonly [field: string]: unknown;
}

/** A source of records that mention other records. */
interface MentionSource {
  /** The name of the source in `voxform get`, e.g. `calls`. */
  readonly name: string;
  /** Must not write. @param since the earliest possible creation time of the record; undefined if a few requests are enough. */
  read(client: PlatformClient, since: Date | undefined): AsyncIterable<Mention>;
}

/** An id that another record mentions. */
export interface Mention {
  readonly id: string;
  /** A clause about the other record, e.g. `number +12025550120 is linked to it`. */
  readonly clause: string;
}

export interface PublishedRecord {
  readonly record: ShownRecord;
  /** True if the draft may have changed since it was published. */
  readonly ahead: boolean;
}

interface ManualChange {
  readonly path: LeafPath;
  /** Fields that identify the record in the dashboard, e.g. the number. */
  readonly record: JsonObject;
  readonly before: Json | undefined;
  /** The new value as text for a person, or the address of a record that does not exist yet. */
  readonly after: string;
}

/** Records that a `$ref` identifies by their name on the platform. They are looked up, never managed. */
export interface Lookup {
  readonly name: string;
  readonly description: string;
  readonly table: RecordTable;
  list(client: PlatformClient): AsyncIterable<LookupRecord>;
  /** Returns a client that passes this list through a function. */
  listedThrough<C extends PlatformClient>(client: C, through: Through): C;
  /** Returns the dashboard step that adds a record of this name, as a sentence without a full stop. */
  manualAddStep(name: string): string;
}

type Through = <T extends LookupRecord>(records: AsyncIterable<T>) => AsyncIterable<T>;

export type LookupRecord = { readonly id: string; readonly name?: string | undefined };
