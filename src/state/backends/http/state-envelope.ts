import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { UserError } from '../../../problems/user-error.ts';
import { lazyObject, lazyStrictObject } from '../../../values/described.ts';
import { isObject, tryParseJson } from '../../../values/json.ts';
import { changed } from '../object-store/change.ts';
import {
  type Change,
  NO_CONTENT,
  type StoredContent,
  storedLock,
  withHeartbeatAge,
} from '../object-store/object-store.ts';

/*
 * On a state server, the state is stored inside a Terraform state (version 4) without resources, because some servers accept only
 * Terraform states. These servers count versions by `serial`, and require `lineage`, `resources` and `outputs`. Terraform cannot parse this
 * `terraform_version`, so it refuses the state instead of replacing it.
 */

const FORMAT = 1;

const content = lazyStrictObject(() => ({
  format: z.literal(FORMAT),
  written_by: z.string(),
  write: z.string().min(1),
  // The state is a string to preserve its bytes, because the digest depends on them.
  state: z.string().nullable(),
  journal: z.string(),
  lock: storedLock().nullable(),
  history: z.array(z.string()),
}));

const envelope = lazyObject(() => ({
  serial: z.int().min(1),
  lineage: z.string().min(1),
  voxform: content(),
}));

export interface StateVersion {
  /** Zero if there is no version yet. */
  readonly serial: number;
  readonly lineage: string;
  readonly history: readonly string[];
  readonly stored: StoredContent;
}

export function noVersion(): StateVersion {
  return { serial: 0, lineage: randomUUID(), history: [], stored: NO_CONTENT };
}

/** @throws UserError if another program or a newer voxform wrote the body. */
export function parseVersion(body: Buffer, location: string, now: Date): StateVersion {
  const value = tryParseJson(body.toString());
  if (!isObject(value)) throw foreign(`${location} is not JSON`);
  const inside = value.voxform;
  if (!isObject(inside)) {
    const isTerraform = 'terraform_version' in value || 'resources' in value;
    throw foreign(`${location} is ${isTerraform ? 'a Terraform state' : 'not a voxform state'}`);
  }
  if (typeof inside.format === 'number' && inside.format > FORMAT) {
    const writer = typeof inside.written_by === 'string' ? ` by voxform ${inside.written_by}` : '';
    throw new UserError(
      `the state ${location} was written${writer} in format ${inside.format}; this version of voxform reads formats up to ${FORMAT}`,
      { hint: 'Upgrade voxform.' },
    );
  }
  const { data, error } = envelope().safeParse(value);
  if (data === undefined) {
    const [issue] = error.issues;
    throw new UserError(`the state ${location} is damaged: at ${issue?.path.join(' > ')}: ${issue?.message}`, {
      hint: 'Nothing was overwritten. Restore an earlier version on the server.',
    });
  }
  const { write, state, journal, history } = data.voxform;
  const lock = data.voxform.lock ?? undefined;
  const content = {
    revision: revisionOf(data.serial, write),
    write,
    state: state === null ? undefined : Buffer.from(state),
    journal: Buffer.from(journal),
    lock,
    secondsSinceHeartbeat: undefined,
  };
  const stored = withHeartbeatAge(content, now);
  return { serial: data.serial, lineage: data.lineage, history, stored };
}

export function nextVersion({ serial, lineage, history, stored }: StateVersion, change: Change): StateVersion {
  return {
    serial: serial + 1,
    lineage,
    history: newest([
      ...(change.converted?.history ?? history),
      ...(change.history === undefined ? [] : [change.history]),
    ]),
    stored: changed(stored, change, revisionOf(serial + 1, change.write)),
  };
}

export function bodyOf({ serial, lineage, history, stored }: StateVersion, writtenBy: string): Buffer {
  const { write = '', state, journal, lock } = stored;
  return Buffer.from(
    JSON.stringify({
      version: 4,
      terraform_version: 'voxform',
      serial,
      lineage,
      outputs: {},
      resources: [],
      voxform: {
        format: FORMAT,
        written_by: writtenBy,
        write,
        lock: lock ?? null,
        state: state === undefined ? null : textOf(state),
        journal: textOf(journal),
        history: [...history],
      },
    }),
  );
}

/** The maximum length of the history in characters. Every write sends the complete history. */
const MAX_HISTORY = 128 * 1024;

/** Returns the last lines that fit. Removes the resources from the last line if it is longer than half of the maximum. */
function newest(lines: readonly string[]): readonly string[] {
  const last = lines.at(-1) ?? '{}';
  const all = last.length > MAX_HISTORY / 2 ? lines.with(-1, withoutResources(last)) : lines;
  let size = 0;
  const dropped = all.findLastIndex((line) => {
    size += line.length;
    return size > MAX_HISTORY;
  });
  return all.slice(dropped + 1);
}

function withoutResources(line: string): string {
  const { resources: _, ...rest } = JSON.parse(line);
  return JSON.stringify(rest);
}

function revisionOf(serial: number, write: string): string {
  return `${serial} ${write}`;
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}

function foreign(message: string): UserError {
  return new UserError(message, {
    hint: 'Nothing was overwritten. Set state.address to a separate address for this state.',
  });
}
