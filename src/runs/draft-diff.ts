import { z } from 'zod';
import { ruleOf } from '../engine/decide/field-rules.ts';
import { namesOf, withNames } from '../engine/decide/planned-names.ts';
import { draftDifferences } from '../engine/decide/publication.ts';
import { idsByName } from '../engine/decide/references.ts';
import { getRecord, readList } from '../engine/observe/read-records.ts';
import type { PlannedChange } from '../engine/plan/plan-document.ts';
import { plannedChange } from '../engine/plan/plan-schema.ts';
import { kindNamed, lookups } from '../kinds/index.ts';
import type { Kind, ShownRecord } from '../kinds/kind.ts';
import { type Address, kindOf } from '../manifests/resource.ts';
import type { PlatformClient } from '../platform/client.ts';
import { PlatformError } from '../platform/platform-error.ts';
import { foreignRecord } from '../platform/workspace-check.ts';
import { advice, command, UserError } from '../problems/user-error.ts';
import type { State } from '../state/state.ts';
import { describedObject } from '../values/described.ts';
import { type Immutable, mapStrings } from '../values/json.ts';
import { VERSION } from '../version.ts';

/* The differences between a draft and its published version, as plain data without secrets. The data is printed unchanged. */

const DRAFT_DIFF_FORMAT_VERSION = 1;

export const draftDiffDocument = describedObject('Changes that publishing a draft would make', {
  format_version: z.literal(DRAFT_DIFF_FORMAT_VERSION),
  voxform_version: z.string(),
  workspace: z.string(),
  workspace_id: z.string(),
  address: z.string(),
  kind: z.string(),
  id: z.string(),
  updated_at: z
    .string()
    .nullable()
    .describe('When the draft was last changed; null if the platform does not return it.'),
  published: z
    .strictObject({
      version: z.int().nullable().describe('Null if the platform does not return it.'),
      published_at: z.string().nullable(),
    })
    .nullable()
    .describe('The latest published version; null if there is none.'),
  changes: z
    .array(plannedChange)
    .describe('Fields that publishing would change, from the version to the draft; empty if nothing is published.'),
  unknown: z
    .array(z.string())
    .describe('Fields that cannot be compared, because the platform does not return them on one side.'),
});

export type DraftDiffDocument = Immutable<z.infer<typeof draftDiffDocument>>;

interface DraftDiffInput {
  readonly address: Address;
  readonly state: State;
  readonly client: PlatformClient;
  readonly workspace: { readonly name: string; readonly workspaceId: string };
  /** Redacts secrets. Called before changed words are marked. */
  redact(text: string): string;
}

/**
 * Compares the draft of a managed record with its latest published version. Also reads the lists that contain the names of differing ids.
 * @throws UserError if the record is missing or belongs to another workspace.
 */
export async function diffDraft(input: DraftDiffInput): Promise<DraftDiffDocument> {
  const { address, state, client, workspace, redact } = input;
  const { name, workspaceId } = workspace;
  const kind = kindNamed(kindOf(address));
  const entry = state.resources.get(address);
  const id = entry?.id ?? '';
  const observation = await getRecord(kind, { id, client, workspaceId });
  if (observation.status === 'foreign')
    throw foreignRecord(`${kind.name} ${id}`, { actual: observation.workspaceId, workspaceId });
  if (observation.status !== 'shown') {
    throw new UserError(`${address} is missing: the platform has no record ${id}`, {
      hint: advice`Run ${command('plan')} to see how to fix this.`,
    });
  }
  const version = await latestOf(kind, { id, client });
  const { changes, unknown } =
    version === undefined
      ? { changes: [], unknown: [] }
      : draftDifferences(kind, { record: observation.record, entry }, version);
  return {
    format_version: DRAFT_DIFF_FORMAT_VERSION,
    voxform_version: VERSION,
    workspace: name,
    workspace_id: workspaceId,
    address,
    kind: kind.name,
    id,
    updated_at: textOrNull(observation.record.updated_at),
    published:
      version === undefined
        ? null
        : {
            version: Number.isInteger(version.version) ? (version.version as number) : null,
            published_at: textOrNull(version.published_at),
          },
    changes: (await withReferenceNames(changes, kind, { state, client, workspaceId })).map((change) =>
      redactedChange(change, redact),
    ),
    unknown,
  };
}

/** Returns the latest version; undefined if none was published. Always sends a request, because a record may omit its version. */
async function latestOf(
  { versions }: Kind,
  { id, client }: { readonly id: string; readonly client: PlatformClient },
): Promise<ShownRecord | undefined> {
  try {
    return await versions?.get(client, id, 'latest');
  } catch (error) {
    if (error instanceof PlatformError && error.isMissing) return undefined;
    throw error;
  }
}

async function withReferenceNames(
  changes: readonly PlannedChange[],
  kind: Kind,
  { state, client, workspaceId }: Pick<DraftDiffInput, 'state' | 'client'> & { readonly workspaceId: string },
): Promise<readonly PlannedChange[]> {
  const idsByLookup = new Map<string, ReadonlyMap<string, readonly string[]>>();
  for (const { path } of changes) {
    const lookup = lookups.get(ruleOf(kind, path).refersTo ?? '');
    if (lookup === undefined || idsByLookup.has(lookup.name)) continue;
    idsByLookup.set(lookup.name, idsByName(await readList(lookup, { client, workspaceId })));
  }
  return withNames(changes, kind, () => namesOf(state, new Map(), idsByLookup));
}

/** Redacts both values of a change. Must be called before changed words are marked, because a mark could split a secret. */
export function redactedChange(
  { before, after, ...rest }: PlannedChange,
  redact: DraftDiffInput['redact'],
): PlannedChange {
  return {
    ...rest,
    ...(before !== undefined && { before: mapStrings(before, redact) }),
    ...(after !== undefined && { after: mapStrings(after, redact) }),
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
