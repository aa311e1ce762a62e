import path from 'node:path';
import { recordedKey } from '../../engine/decide/field-rules.ts';
import { readGivenFile } from '../../files/given-file.ts';
import { kinds } from '../../kinds/index.ts';
import { problemsIn } from '../../manifests/issue-messages.ts';
import { parseDocuments } from '../../manifests/parse-documents.ts';
import { reasonOf } from '../../manifests/read-file.ts';
import { declarationProblem, kindOf } from '../../manifests/resource.ts';
import { EnvironmentSource } from '../../manifests/secret-reader.ts';
import { jsonText } from '../../output/json-text.ts';
import { plural } from '../../output/plural.ts';
import { noWrapColumns, renderTable } from '../../output/table.ts';
import { shellWord } from '../../problems/shell-word.ts';
import { advice, command, UserError, usageError } from '../../problems/user-error.ts';
import { commandFor } from '../../problems/workspace-command.ts';
import { readSettings } from '../../project/workspace-settings.ts';
import { type OpenWorkspace, openWorkspace } from '../../runs/open-workspace.ts';
import type { LockOptions } from '../../runs/run-context.ts';
import { freshState, recordRescueFile } from '../../runs/state-access.ts';
import { unknownInState, unresolvedCreate } from '../../runs/versioned-record.ts';
import { parseEdited, stateBytes } from '../../state/document-text.ts';
import { emptyDocument, fold } from '../../state/fold.ts';
import { describeHolder } from '../../state/lock-info.ts';
import { moveState } from '../../state/move.ts';
import { pushState } from '../../state/push.ts';
import { admitOlder, withLease } from '../../state/session.ts';
import type { State } from '../../state/state.ts';
import { orphanOf } from '../../state/state-document.ts';
import { MovedState } from '../../state/state-errors.ts';
import {
  backendOf,
  isBackend,
  isSameState,
  locateState,
  type StateLocation,
  stateSchema,
} from '../../state/state-location.ts';
import type { StateStore } from '../../state/store.ts';
import { VERSION } from '../../version.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../flags.ts';

export async function listState(context: Context, { output }: JsonFlag): Promise<void> {
  const { resources, pending } = await (await openWithoutKey(context)).state();
  const rows = [...new Set([...resources.keys(), ...pending.keys()])].sort().map((address) => {
    const entry = resources.get(address);
    const status = pending.has(address) ? 'unknown' : entry?.adopted ? 'adopted' : 'managed';
    return { address, id: entry?.id ?? null, status };
  });
  const { terminal } = context;
  if (output === 'json') terminal.out(jsonText(rows));
  else if (rows.length === 0) context.log.info('No resources in the state.');
  else {
    const lines = rows.map(({ address, id, status }) => [address, id ?? '-', status]);
    terminal.out(renderTable([...noWrapColumns('ADDRESS', 'ID'), 'STATUS'], lines, terminal.tableStyle));
  }
}

export async function showState(context: Context, { address }: { readonly address: string }): Promise<void> {
  const state = await (await openWithoutKey(context)).state();
  requireKnown(address, state);
  const pending = state.pending.get(address);
  const entry = { address, ...state.resources.get(address), ...(pending !== undefined && { pending }) };
  context.terminal.out(jsonText(entry));
}

function openWithoutKey(context: Context): Promise<OpenWorkspace> {
  return openWorkspace(context, { requireKey: false });
}

export async function unlockState(context: Context, { id }: { readonly id: string }): Promise<void> {
  const { store } = await openWithoutKey(context);
  const runs = await store.history().catch(() => []);
  const matches = runs.filter(({ run }) => run.startsWith(id)).map(({ run }) => run);
  // Locks that were taken within the same minute may have ids with the same prefix.
  if (matches.length > 1) {
    throw new UserError(`${matches.length} run ids begin with ${id}: ${matches.slice(0, 5).join(', ')}`);
  }
  context.terminal.out(`Released the lock of ${describeHolder(await store.unlock(id))}.\n`);
}

export async function moveInState(
  context: Context,
  { from, to, ...options }: LockOptions & { readonly from: string; readonly to: string },
): Promise<void> {
  const opened = await openWithoutKey(context);
  await opened.inSession({ operation: 'state mv', options }, async (session) => {
    requireKnown(from, session.state);
    if (kindOf(from) !== kindOf(to)) throw usageError(`cannot rename ${from} to ${to}: the kinds differ`);
    const refusal = declarationProblem(to);
    if (refusal !== undefined) throw usageError(`${to}: ${refusal}`);
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
  const opened = await openWithoutKey(context);
  await opened.inSession({ operation: 'state rm', options }, async (session) => {
    for (const address of addresses) {
      requireKnown(address, session.state);
      if (session.state.pending.has(address)) throw unresolvedCreate(address);
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
  for (const address of new Set(addresses)) {
    context.terminal.out(`Released ${address}. Its record is on the orphan list.\n`);
  }
}

/** Prints the current state, including the journal that a killed run left. */
export async function pullState(context: Context, { sealed = false }: { readonly sealed?: boolean }): Promise<void> {
  const opened = await openWithoutKey(context);
  const { store } = opened;
  const stored = await store.read();
  if (stored.document === undefined) {
    await opened.refuseSecondState();
    throw noState(store);
  }
  admitOlder(stored, store.location, (message) => context.log.warn(message));
  const document = fold(stored.document, stored.journal).toDocument(stored.document);
  if (sealed && opened.workspace.state.seal === undefined) throw notSealable();
  context.terminal.out(sealed ? await opened.seal.encryptFile(stateBytes(document)) : stateBytes(document).toString());
}

function noState({ location }: StateStore): UserError {
  return new UserError(`no state at ${location} yet`, { hint: 'The first apply or import creates it.' });
}

function notSealable(): UserError {
  return new UserError('state.seal is not set in voxform.yaml', {
    hint: "Add the public key that age-keygen printed: state: { seal: { recipients: ['age1…'], identity: { $secret: STATE_IDENTITY } } }",
  });
}

export const sealState = (context: Context, flags: LockOptions) => convertState(context, flags, 'sealed');
export const unsealState = (context: Context, flags: LockOptions) => convertState(context, flags, 'plain');

/** Encrypts or decrypts the state, with its backups and its history. */
async function convertState(context: Context, options: LockOptions, form: 'sealed' | 'plain'): Promise<void> {
  const opened = await openWithoutKey(context);
  const { state } = opened.workspace;
  if (state.seal === undefined) throw notSealable();
  const operation = form === 'sealed' ? 'state seal' : 'state unseal';
  const store = opened.storeAt(state, form);
  const unread = await opened.inSession({ operation, options, store }, (session) => {
    if (session.isFirst) throw noState(store);
    return session.convert();
  });
  for (const file of unread) context.log.warn(`${file} cannot be read, and is unchanged`);
  context.terminal.out(
    form === 'sealed'
      ? `Sealed ${store.location} for ${plural(state.seal.recipients.length, 'recipient')}, with its backups and its history.\n`
      : `Decrypted ${store.location}, with its backups and its history. Remove \`seal\` from \`state\` in voxform.yaml now.\n`,
  );
}

interface FileFlags extends LockOptions {
  readonly file: string;
  readonly force?: boolean;
}

export async function pushStateFile(context: Context, { file, ...flags }: FileFlags): Promise<void> {
  const opened = await openWithoutKey(context);
  const bytes = await readGivenFile(path.resolve(context.cwd, file)).catch((cause: unknown) => {
    throw new UserError(`cannot read ${file}: ${reasonOf(cause)}`, {
      hint: advice`Pass a file with the output of ${command('state pull')}.`,
      cause,
    });
  });
  const decrypted = await opened.seal.decryptFile(bytes, file);
  const parsed = parseEdited(decrypted, file, 'Use another copy. The state was not changed.');
  const document = await opened.seal.decryptCopy(parsed, file);
  const pushed = await pushState(opened.store, {
    document,
    forced: commandFor(`voxform state push --force ${shellWord(file)}`, opened.selection),
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
          ...pushed.orphaned.map(
            ({ address, id }) => `${address} (${id}) is not in ${file}: its record is on the orphan list.`,
          ),
          ...pushed.unknown.map((address) => `${address} is not in ${file}: it is still an unknown create.`),
        ];
  context.terminal.out(`${lines.join('\n')}\n`);
}

export async function rescueState(context: Context, { file, ...flags }: FileFlags): Promise<void> {
  const opened = await openWithoutKey(context);
  const session = opened.sessionOptions('state rescue', flags);
  const records = await recordRescueFile(path.resolve(context.cwd, file), opened.store, session);
  const { terminal } = context;
  for (const record of records) terminal.out(`Recorded ${record}.\n`);
  if (records.length === 0) terminal.out('Recorded the results of the failed run. No id was missing.\n');
}

function requireKnown(address: string, state: State): void {
  if (!state.resources.has(address) && !state.pending.has(address))
    throw unknownInState(address, [...state.resources.keys(), ...state.pending.keys()]);
}

export async function moveStateHere(
  context: Context,
  { from, ...lock }: LockOptions & { readonly from: string },
): Promise<void> {
  const opened = await openWithoutKey(context);
  const location = await locationFrom(from, context, opened);
  const { store, workspace } = opened;
  if (isSameState(location, workspace.state)) {
    throw new UserError(`${store.location} is already the state of this workspace`, {
      hint: 'Pass another state with --from, or change `state` of the workspace first.',
    });
  }
  const source = opened.storeAt(location);
  const session = opened.sessionOptions('state move', lock);
  try {
    const { records, serial } = await moveState({ from: source, to: store, session });
    context.terminal.out(
      `Moved the state from ${source.location} to ${store.location}: ${plural(records, 'resource')}, serial ${serial}.\n` +
        `The history of the earlier runs stays at ${source.location}.\n`,
    );
  } catch (error) {
    if (!(error instanceof MovedState)) throw error;
    if ((await store.read()).document?.lineage !== error.mark.lineage) throw error;
    context.terminal.out(`The state was already moved from ${source.location} to ${store.location}.\n`);
  }
}

export async function initState(
  context: Context,
  { lockTimeout, sql }: LockOptions & { readonly sql?: boolean },
): Promise<void> {
  const opened = await openWithoutKey(context);
  const { store, workspace } = opened;
  if (sql) {
    const script = backendOf(workspace.state).setUp?.(workspace.state);
    context.terminal.out(script ?? `The state ${store.location} needs no SQL.\n`);
    return;
  }
  await withLease(store, opened.lockRequest('state init', lockTimeout), async (lease) => {
    if ((await lease.read()).document !== undefined) {
      throw new UserError(`a state already exists at ${store.location}`);
    }
    await lease.commit(emptyDocument(freshState(), workspace.workspaceId, VERSION), undefined);
  });
  context.terminal.out(`Created an empty state at ${store.location}.\n`);
}

/**
 * Returns the location of a state.
 * @param from the name of a backend, the path of a file, or settings as in the project file.
 */
async function locationFrom(
  from: string,
  { cwd, env, commandLineEnv = env }: Context,
  { project, workspace }: OpenWorkspace,
): Promise<StateLocation> {
  const owner = { workspace: workspace.name, root: project.root };
  const isNamed = isBackend(from);
  if (!isNamed && !from.trimStart().startsWith('{'))
    return locateState({ backend: 'local', path: path.resolve(cwd, from) }, owner);
  const { documents, problems: inText } = parseDocuments(isNamed ? `{ backend: ${from} }` : from);
  const sources = workspace.secrets.sources.map((each) =>
    each instanceof EnvironmentSource ? new EnvironmentSource(commandLineEnv) : each,
  );
  const { plain, problems, secrets } = readSettings(
    { state: documents[0]?.value ?? null },
    { root: project.root, local: undefined, env: commandLineEnv, workspace: workspace.name, sources },
  );
  await secrets.read();
  const settings = stateSchema().safeParse(plain.state);
  const issues = problemsIn(settings.error, { schema: stateSchema(), value: plain.state, name: 'state' });
  const [problem] = [...inText, ...problems, ...issues];
  if (problem !== undefined || documents.length !== 1 || !settings.success) {
    throw usageError(
      `--from: ${problem?.message ?? 'expected one document'}`,
      "Write settings as in voxform.yaml: '{ backend: local, path: .voxform/old.state.json }'",
    );
  }
  return locateState(settings.data, owner);
}
