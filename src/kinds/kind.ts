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
 * Everything that is special about one kind. The engine decides; a kind only observes, creates and updates, and says what
 * its fields are. It must not keep anything between calls.
 */
export interface Kind extends KindSchema {
  /** Either `list`, where the platform can list the records, or `get`. Neither may write. */
  list?(client: PlatformClient): AsyncIterable<ShownRecord>;
  get?(client: PlatformClient, id: string): Promise<ShownRecord>;
  /** How `get` names and shows its records. */
  readonly table: RecordTable;
  /** How records of this kind lead to others; only for a kind that can be listed. */
  readonly routes?: Routes;
  /** The natural key of a shown record, undefined where it does not show one; present exactly where `naturalKey` is. */
  naturalKeyOf?(record: ShownRecord): string | undefined;
  /**
   * The newest configuration the platform shows elsewhere, for an adoption whose read hides fields; undefined where there
   * is none. `ahead` says that the record has moved on since.
   */
  published?(client: PlatformClient, record: ShownRecord): Promise<PublishedRecord | undefined>;
  /** The published versions of a record, for a kind that has them. */
  readonly versions?: Versions;
  /**
   * Where ids of such records are mentioned, for a kind that no list shows. Each is read only as far as needed.
   */
  readonly mentions?: readonly MentionSource[];
  /** Must send exactly one POST. Absent where the platform has none: `manualCreateStep` says then what a person must do. */
  create?(client: PlatformClient, body: JsonObject): Promise<ShownRecord>;
  /** Must send exactly one PUT. Absent where the platform has none. */
  update?(client: PlatformClient, id: string, body: JsonObject): Promise<ShownRecord>;
  /** Top-level fields that every update carries, desired or else as observed, and whether the API refuses an update without them. */
  readonly alwaysSent?: Readonly<Record<string, 'required' | 'optional'>>;
  /** What people call a shown record, as far as it says: the name of its manifest is made of it. */
  label(record: ShownRecord): string;
  /** What a person must do in the dashboard for a record that no endpoint creates. */
  manualCreateStep?(spec: JsonObject): string;
  /** What a person must do in the dashboard so that `path` becomes `after`. */
  manualChangeStep?(change: ManualChange): string;
  /** For a kind whose records may own the workspace. Changes that touch owners are guarded. */
  readonly ownership?: Ownership;
  /**
   * The effect while two workspaces have such a record each, as a clause, and what a person must do with the one in the workspace that is
   * left, as a clause that follows `In the dashboard, `. Undefined for a record without such an effect; absent for a kind without any: a
   * migration creates records of the other kinds last.
   */
  leftBehind?(record: { readonly id: string; readonly spec: JsonObject }): LeftBehind | undefined;
  /** For a kind whose records are published by a person: what is written is a draft until then. Goes with `published`. */
  readonly publishing?: Publishing;
}

interface Publishing {
  /**
   * How the draft stands to the latest published version, as far as the record itself tells. `unclear` where the record changed so
   * soon after it was published that publishing itself may be the change, and where it does not show both times.
   */
  draftStatus(record: ShownRecord): DraftStatus;
  /** What a person must do once the first draft was written, a sentence. */
  readonly first: string;
  /** What holds until a later draft is published, a clause. */
  readonly meanwhile: string;
}

export type DraftStatus = 'never' | 'edited' | 'unclear' | 'current';

interface LeftBehind {
  readonly harm: string;
  readonly step: string;
}

/** Whoever changes a record wants to know what leads to it, e.g. on which numbers callers will hear the difference. */
export interface Routes {
  /** What people call such a record, e.g. `phone number`. */
  readonly noun: string;
  /** The fields that hold the id of what it leads to, each with its word for people, e.g. `inbound`. Their `refersTo` says of which kind. */
  readonly ways: Readonly<Record<LeafPath, string>>;
  /**
   * A field of the records that it leads to, which names such records without the field that leads there; the field that an item stands
   * for which is no record; and the word for such a link. It is read where the list of this kind is refused.
   */
  readonly named: { readonly field: string; readonly item: string; readonly way: string };
  /** By that word: what the other record does over the link, as in `answers +12025550120` and `will answer +12025550120`. */
  readonly verbs: Readonly<Record<string, readonly [now: string, then: string]>>;
  /** What tells a person which record it is. Fields that are secret are missing. */
  label(record: ShownRecord): string;
}

interface Ownership {
  /** The field that makes an owner of a record. */
  readonly field: LeafPath;
  /** True where the record is an owner of the workspace, or, with `value` given, would be one with that in the field. */
  isOwner(record: ShownRecord, value?: Json): boolean;
}

/** How published versions are read. Neither may write. */
export interface Versions {
  /** The field of a call that holds the id of the record. */
  readonly inCalls: string;
  list(client: PlatformClient, id: string): AsyncIterable<VersionShown>;
  /** The record as it was published under this number, or at last. */
  get(client: PlatformClient, id: string, version: number | 'latest'): Promise<ShownRecord>;
}

export interface VersionShown {
  readonly version: number;
  readonly published_at?: string | null | undefined;
  readonly [field: string]: unknown;
}

/** Records that mention others. */
interface MentionSource {
  /** As `get` names them, e.g. `calls`. */
  readonly name: string;
  /** `since` is when the sought record was made, at the earliest; undefined: what a few requests give will do. Must not write. */
  read(client: PlatformClient, since: Date | undefined): AsyncIterable<Mention>;
}

/** An id that another record mentions. */
export interface Mention {
  readonly id: string;
  /** Who mentions it, as a clause, e.g. `number +12025550120 is linked to it`. */
  readonly clause: string;
}

export interface PublishedRecord {
  readonly record: ShownRecord;
  readonly ahead: boolean;
}

interface ManualChange {
  readonly path: LeafPath;
  /** What names the record in the dashboard, e.g. the number itself. */
  readonly record: JsonObject;
  readonly before: Json | undefined;
  /** Text for a person: a value, or the address of a record that is yet to be created. */
  readonly after: string;
}

/** Records that a `$ref` may name by their name on the platform. They are looked up, never managed. */
export interface Lookup {
  readonly name: string;
  readonly description: string;
  /** How `get` names and shows them. */
  readonly table: RecordTable;
  list(client: PlatformClient): AsyncIterable<LookupRecord>;
  /** The client with this list read through a function. */
  listedThrough<C extends PlatformClient>(client: C, through: Through): C;
  /** What a person must do in the dashboard when there is none of that name, a sentence without its full stop. */
  manualAddStep(name: string): string;
}

type Through = <T extends LookupRecord>(records: AsyncIterable<T>) => AsyncIterable<T>;

export type LookupRecord = { readonly id: string; readonly name?: string | undefined };
