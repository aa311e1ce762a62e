import { z } from 'zod';
import { type Address, kindOf } from '../manifests/resource.ts';
import { describedObject } from '../values/described.ts';
import type { Immutable, Json } from '../values/json.ts';
import { lazy } from '../values/lazy.ts';

/*
 * The state of one workspace. It contains no secrets: a secret value is stored as `{ "$fingerprint": "…" }`.
 */

export const STATE_FORMAT_VERSION = 2;

/** Field values by path. Any value is accepted, because all values were parsed from JSON. */
const leaves = lazy(() => z.record(z.string(), z.unknown() as z.ZodType<Json>));

export const resourceEntry = lazy(() =>
  describedObject('The state entry of one address.', {
    id: z.string().min(1).describe("The record's id on the platform."),
    adopted: z.literal(true).optional().describe('Present for an imported record.'),
    recorded: leaves().describe(
      'Values that were last sent, by path. References are ids, and secrets are fingerprints.',
    ),
    observed: leaves().describe(
      'Values that the platform returned right after the last apply, by path, if they differ from the recorded ones.',
    ),
    unobserved: z.array(z.string()).describe('Recorded paths that the platform has not returned since the last apply.'),
    not_applied: z
      .array(z.string())
      .optional()
      .describe('Recorded paths whose update the platform ignored; absent if there are none.'),
    read: z
      .array(z.string())
      .optional()
      .describe('Config objects that a read after the last update returned completely; absent if there are none.'),
    missing_since: z.string().optional().describe('ISO 8601. Present while the record is missing from the platform.'),
  }),
);

export const pendingCreate = lazy(() =>
  describedObject('An unknown create: the record may or may not exist.', {
    since: z.string().describe('The time when the request was sent, in ISO 8601.'),
    natural_key: z.string().optional().describe("The natural key that identifies the record in the platform's lists."),
    recorded: leaves().describe('Values in the request.'),
    replaces: z.string().optional().describe('Id of the record that the new one replaces.'),
  }),
);

export const closingReasons = ['deleted', 'handed-over', 'kept'] as const;

export const orphan = lazy(() =>
  describedObject('A record that voxform no longer manages and that may still exist.', {
    kind: z.string(),
    id: z.string().min(1),
    address: z.string().describe('The former address.'),
    natural_key: z
      .string()
      .optional()
      .describe("The natural key that identifies the record in the platform's lists; absent if it was not recorded."),
    reason: z
      .enum(['forgotten', 'replaced', 'removed', 'gone'])
      .describe(
        'Why it is no longer managed: no manifest declares it, it was replaced, a person released it, or it was missing from the platform.',
      ),
    since: z.string().describe('ISO 8601.'),
    closed: z
      .strictObject({
        because: z.enum(closingReasons).describe('The record was deleted, handed over, or kept on purpose.'),
        since: z.string().describe('ISO 8601.'),
      })
      .optional()
      .describe('Present once the orphan is closed.'),
  }),
);

export const stateDocument = lazy(() =>
  describedObject('The state of one workspace.', {
    format_version: z.literal(STATE_FORMAT_VERSION),
    voxform_version: z.string().describe('The voxform version that wrote the file.'),
    lineage: z.string().min(1).describe('Unique to this state and its successors.'),
    serial: z.int().min(0).describe('Increases with each write of this document.'),
    workspace_id: z.string().min(1),
    applied_commit: z
      .string()
      .optional()
      .describe('Commit of the manifests of the last apply; absent if they were in no Git repository.'),
    salt: z.string().min(1).describe('Key of the fingerprints of secret values.'),
    resources: z.record(z.string(), resourceEntry()).describe('State entries of managed records, by address.'),
    pending: z.record(z.string(), z.lazy(pendingCreate)).describe('Unknown creates, by address.'),
    orphans: z.array(z.lazy(orphan)),
    write: z
      .string()
      .describe(
        'Unique to each write, so that two states with the same serial conflict in Git; empty if read from format 1.',
      ),
    write_digest: z
      .string()
      .regex(/^sha256:[0-9a-f]{64}$/)
      .describe('SHA-256 of the document as written, up to the comma before this key.'),
  }),
);

/** The format of earlier versions. The next write converts the document. */
const formerDocument = lazy(() =>
  stateDocument()
    .omit({ write: true, write_digest: true })
    .extend({ format_version: z.literal(1) }),
);

/** The format of a sealed state. It has its own number, so that earlier versions of voxform ask for an upgrade. */
export const SEALED_FORMAT_VERSION = 3;

/** An encrypted state. Fields outside `sealed` stay readable without the private key. */
const sealedDocument = lazy(() => {
  const { voxform_version, lineage, serial, workspace_id, write, write_digest } = stateDocument().shape;
  return z.strictObject({
    format_version: z.literal(SEALED_FORMAT_VERSION),
    voxform_version,
    lineage,
    serial,
    workspace_id,
    write,
    recipients: z.array(z.string()).describe('Age public keys for which the document is encrypted.'),
    sealed: z.string().describe('The encrypted document: an age file in ASCII armor.'),
    write_digest,
  });
});

export const writtenDocument = lazy(() =>
  z.discriminatedUnion('format_version', [stateDocument(), formerDocument(), sealedDocument()], {
    error: 'missing, or not a known state format',
  }),
);

export type ResourceEntry = Immutable<z.infer<ReturnType<typeof resourceEntry>>>;
export type PendingCreate = Immutable<z.infer<ReturnType<typeof pendingCreate>>>;
export type Orphan = Immutable<z.infer<ReturnType<typeof orphan>>>;
export type ClosingReason = (typeof closingReasons)[number];
/** A document with the digest of its text. The digest is computed on each write and verified on each read. */
export type WrittenDocument = Immutable<z.infer<ReturnType<typeof writtenDocument>>>;
export type StateDocument = Omit<Immutable<z.infer<ReturnType<typeof stateDocument>>>, 'write_digest'>;
export type SealedDocument = Omit<Immutable<z.infer<ReturnType<typeof sealedDocument>>>, 'write_digest'>;
/** A document in its stored form: in plain text or sealed. */
export type StoredDocument = StateDocument | SealedDocument;

export function isSealed(document: StoredDocument): document is SealedDocument {
  return document.format_version === SEALED_FORMAT_VERSION;
}

/** Creates the orphan entry of a record that is no longer managed. */
export function orphanOf(
  address: Address,
  { id, reason, since, natural_key, closed }: Omit<Orphan, 'kind' | 'address'>,
): Orphan {
  return {
    kind: kindOf(address),
    id,
    address,
    reason,
    since,
    ...(natural_key !== undefined && { natural_key }),
    ...(closed !== undefined && { closed }),
  };
}
