import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { recordedKey } from '../../engine/decide/field-rules.ts';
import { kinds } from '../../kinds/index.ts';
import { reasonOf } from '../../manifests/read-file.ts';
import { kindOf, undeclarable } from '../../manifests/resource.ts';
import { jsonText } from '../../output/json-text.ts';
import { renderTable, whole } from '../../output/table.ts';
import { shellWord } from '../../problems/shell-word.ts';
import { advice, command, misuse, UserError } from '../../problems/user-error.ts';
import { commandFor } from '../../problems/workspace-command.ts';
import { openWorkspace } from '../../runs/open-workspace.ts';
import { recordRescueFile } from '../../runs/rescues.ts';
import type { LockOptions } from '../../runs/run-context.ts';
import { unknownInState } from '../../runs/versioned-record.ts';
import { stateBytes } from '../../state/document-bytes.ts';
import { parseEdited } from '../../state/document-text.ts';
import { fold } from '../../state/fold.ts';
import { describedHolder } from '../../state/lock-info.ts';
import { pushState } from '../../state/push.ts';
import { admitOlder } from '../../state/session.ts';
import type { State } from '../../state/state.ts';
import { orphanOf } from '../../state/state-document.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../flags.ts';

export async function listState(context: Context, { output }: JsonFlag): Promise<void> {
  const state = await open(context);
  const rows = rowsOf(state);
  const { terminal } = context;
  if (output === 'json') terminal.out(jsonText(rows));
  else if (rows.length === 0) context.log.info('No resources in the state.');
  else {
    const lines = rows.map(({ address, id, status }) => [address, id ?? '-', status]);
    terminal.out(renderTable([...whole('ADDRESS', 'ID'), 'STATUS'], lines, terminal.tableStyle));
  }
}

export async function showState(context: Context, { address }: { readonly address: string }): Promise<void> {
  const state = await open(context);
  const entry = state.resources.get(address);
  const pending = state.pending.get(address);
  if (entry === undefined && pending === undefined)
    throw unknownInState(address, [...state.resources.keys(), ...state.pending.keys()]);
  const shown = { address, ...entry, ...(pending !== undefined && { pending }) };
  context.terminal.out(jsonText(shown));
}

export async function unlockState(context: Context, { id }: { readonly id: string }): Promise<void> {
  const { store } = await openWorkspace(context, { requireKey: false });
  const runs = await store.history().catch(() => []);
  const named = runs.filter(({ run }) => run.startsWith(id)).map(({ run }) => run);
  // Ids of locks taken within a minute may have the same prefix.
  if (named.length > 1)
    throw new UserError(`${named.length} runs begin with ${id}: ${named.slice(0, 5).join(', ')}`);
  context.terminal.out(`Released the lock of ${describedHolder(await store.unlock(id))}.\n`);
}

async function open(context: Context): Promise<State> {
  return (await openWorkspace(context, { requireKey: false })).state();
}

function rowsOf(state: State) {
  const addresses = new Set([...state.resources.keys(), ...state.pending.keys()]);
  return [...addresses].sort().map((address) => {
    const entry = state.resources.get(address);
    const status = state.pending.has(address) ? 'unknown' : entry?.adopted ? 'adopted' : 'managed';
    return { address, id: entry?.id ?? null, status };
  });
}

interface PushFlags extends LockOptions {
  readonly file: string;
  readonly force?: boolean;
}

export async function moveInState(
  context: Context,
  { from, to, ...options }: LockOptions & { readonly from: string; readonly to: string },
): Promise<void> {
  const opened = await openWorkspace(context, { requireKey: false });
  await opened.inSession({ operation: 'state mv', options }, async (session) => {
    requireKnown(from, session.state);
    if (kindOf(from) !== kindOf(to)) throw misuse(`cannot rename ${from} to ${to}: the kinds differ`);
    const refusal = undeclarable(to);
    if (refusal !== undefined) throw misuse(`${to}: ${refusal}`);
    if (from !== to && (session.state.resources.has(to) || session.state.pending.has(to))) {
      throw new UserError(`${to} is already in the state`, {
        hint: advice`Rename it first, or release it: ${command(`state rm ${to}`)}`,
      });
    }
    await session.record({ type: 'renamed', from, to });
  });
  context.terminal.out(`Renamed ${from} to ${to}. Rename it in the manifests too.\n`);
}

export async function removeFromState(
  context: Context,
  { address: addresses, ...options }: LockOptions & { readonly address: readonly string[] },
): Promise<void> {
  const opened = await openWorkspace(context, { requireKey: false });
  await opened.inSession({ operation: 'state rm', options }, async (session) => {
    for (const address of addresses) {
      requireKnown(address, session.state);
      if (session.state.pending.has(address)) {
        throw new UserError(`${address} has an unknown create: resolve it first`, {
          hint: advice`${command(`import ${address} ID`)}, or ${command(`state resolve ${address} --not-created`)}`,
        });
      }
    }
    for (const address of new Set(addresses)) {
      const entry = session.state.resources.get(address);
      const orphan = orphanOf(address, {
        id: entry?.id ?? '',
        reason: 'removed',
        since: context.now().toISOString(),
        natural_key: recordedKey(kinds.get(kindOf(address)), entry),
      });
      await session.record({ type: 'forgotten', address, orphan });
    }
  });
  for (const address of addresses) {
    context.terminal.out(`Released ${address}. Its record is on the orphan list.\n`);
  }
}

/** Prints the current state, including the journal of a killed run. */
export async function pullState(context: Context): Promise<void> {
  const opened = await openWorkspace(context, { requireKey: false });
  const { store } = opened;
  const stored = await store.read();
  if (stored.document === undefined) {
    await opened.refuseSecond();
    throw new UserError(`no state at ${store.location} yet`, {
      hint: 'The first apply or import creates it.',
    });
  }
  admitOlder(stored, store.location, (message) => context.log.warn(message));
  const document = fold(stored.document, stored.journal).toDocument(stored.document);
  context.terminal.out(stateBytes(document).toString());
}

export async function pushStateFile(context: Context, { file, ...flags }: PushFlags): Promise<void> {
  const opened = await openWorkspace(context, { requireKey: false });
  const bytes = await readFile(path.resolve(context.cwd, file)).catch((cause: unknown) => {
    throw new UserError(`cannot read ${file}: ${reasonOf(cause)}`, {
      hint: advice`Pass a file with the output of ${command('state pull')}.`,
      cause,
    });
  });
  const document = parseEdited(bytes, file, 'Use another copy. The state was not changed.');
  const pushed = await pushState(opened.store, {
    document,
    forced: commandFor(`voxform state push --force ${shellWord(file)}`, opened.reach),
    force: flags.force ?? false,
    session: opened.sessionOptions('state push', flags),
    naturalKey: (address, entry) => recordedKey(kinds.get(kindOf(address)), entry),
  });
  const lines =
    pushed === undefined
      ? ['The state is already identical.']
      : [
          pushed.quarantined === undefined
            ? `Pushed as serial ${pushed.serial}. The old state is kept as a backup.`
            : `Pushed as serial ${pushed.serial}. The damaged state is kept in ${pushed.quarantined}.`,
          ...pushed.kept.map(
            ({ address, id }) => `${address} (${id}) is not in ${file}: its record is on the orphan list.`,
          ),
          ...pushed.unknown.map((address) => `${address} is not in ${file}: it is still an unknown create.`),
        ];
  context.terminal.out(`${lines.join('\n')}\n`);
}

export async function rescueState(
  context: Context,
  { file, ...flags }: LockOptions & { readonly file: string },
): Promise<void> {
  const opened = await openWorkspace(context, { requireKey: false });
  const session = opened.sessionOptions('state rescue', flags);
  const records = await recordRescueFile(path.resolve(context.cwd, file), opened.store, session);
  const { terminal } = context;
  for (const record of records) terminal.out(`Recorded ${record}.\n`);
  if (records.length === 0) terminal.out('Recorded. No id was missing.\n');
}

function requireKnown(address: string, state: State): void {
  if (!state.resources.has(address) && !state.pending.has(address))
    throw unknownInState(address, [...state.resources.keys(), ...state.pending.keys()]);
}
