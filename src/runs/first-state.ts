import { existsSync } from 'node:fs';
import path from 'node:path';
import type { PlanDocument } from '../engine/plan/plan-document.ts';
import { type GitCall, gitEnvironment, runGit } from '../git/run-git.ts';
import { isInside } from '../manifests/read-file.ts';
import { shellWord } from '../problems/shell-word.ts';
import { type Advice, advice, UserError } from '../problems/user-error.ts';
import { commandFor, type WorkspaceSelection } from '../problems/workspace-command.ts';
import type { ProjectConfig, WorkspaceConfig } from '../project/project.ts';
import { findOtherState, type OtherState } from '../state/backends/local/find-other-state.ts';
import { local } from '../state/backends/local/local-backend.ts';
import type { Marks, StateMark } from '../state/marks.ts';
import type { StateSession } from '../state/session.ts';
import { LostState, RECOVER } from '../state/state-errors.ts';
import { backendOf } from '../state/state-location.ts';
import type { FoundState, StateStore } from '../state/store.ts';
import { isLoopback } from '../values/loopback.ts';
import type { RunContext } from './run-context.ts';

interface NewState {
  readonly project: ProjectConfig;
  readonly workspace: WorkspaceConfig;
  readonly store: Pick<StateStore, 'location'>;
  readonly selection: WorkspaceSelection;
  readonly context: Pick<RunContext, 'cwd' | 'env' | 'log'>;
}

/**
 * Refuses to start a new state if the workspace already has one under another name, for example after a rename in voxform.yaml, or if this
 * machine wrote one that is missing now. With a new state, all records would be created again.
 * @param marks the states that this machine wrote before.
 * @throws LostState if the state is missing, or UserError with the command that moves the state if it is in another location.
 */
export async function refuseSecondState(
  newState: NewState,
  { marks, findOther }: { readonly marks: Marks | undefined; readonly findOther?: StateStore['findOther'] },
): Promise<void> {
  const { project, workspace, store } = newState;
  const marked = (await marks?.of(workspace.workspaceId)) ?? [];
  const files = marked.map((mark) => mark.path).filter((each) => path.isAbsolute(each));
  const defaultPath = local.locate({}, { workspace: workspace.name, root: project.localRoot ?? project.root }).path;
  const ownFile = backendOf(workspace.state).fileOf?.(workspace.state);
  const search = { path: ownFile, workspaceId: workspace.workspaceId, name: path.basename(defaultPath) };
  const found = await findOtherState({
    ...search,
    others: [
      ...Object.values(project.workspaces).flatMap(({ state }) => backendOf(state).fileOf?.(state) ?? []),
      ...files.filter((each) => isInside(each, project.localRoot ?? project.root)),
    ],
    folders: [ownFile ?? defaultPath, defaultPath].map(path.dirname),
  });
  if (found !== undefined) throw otherFileError(found, newState);
  // A platform on this machine is used for trials, and may lose its records at any time.
  if (isLoopback(new URL(workspace.baseUrl).hostname)) return;
  const fileElsewhere = await findOtherState({ ...search, others: files, folders: [] });
  if (fileElsewhere !== undefined) throw otherFileError(fileElsewhere, newState);
  const stateElsewhere = await findOther?.(workspace.workspaceId);
  if (stateElsewhere !== undefined)
    throw otherStateError({ ...stateElsewhere, from: shellWord(stateElsewhere.from) }, newState);
  const [lost] = marked.toSorted((a, b) => b.serial - a.serial);
  if (lost === undefined) return;
  const wasHere = path.isAbsolute(lost.path) || lost.path === store.location;
  throw wasHere ? lostState(lost, newState) : stateInOtherStore(lost, newState);
}

function otherFileError({ path: file, records }: OtherState, newState: NewState): UserError {
  const shown = shownPath(newState.context.cwd, file);
  return otherStateError({ location: shown, from: shown, records }, newState);
}

function otherStateError({ location: shown, from, records }: FoundState, newState: NewState): UserError {
  const { workspace, store } = newState;
  const contents = records === undefined ? 'which cannot be read,' : `with ${countOf(records)},`;
  return new UserError(
    `no state at ${store.location} yet, but ${shown}, ${contents} belongs to the same workspace ${workspace.workspaceId}`,
    { hint: moveHint(newState, { text: 'Move it here: ', command: `state move --from ${from}` }) },
  );
}

/** Returns a hint with two ways to continue: the given command, or a command that starts with an empty state. */
function moveHint(
  { project, selection }: NewState,
  { text, command, or }: { readonly text: string; readonly command: string; readonly or?: Advice },
): Advice {
  const completeCommand = (words: string): string =>
    withProjectFile(project, commandFor(`voxform ${words}`, selection), selection);
  return advice`${text}${completeCommand(command)}. ${or === undefined ? '' : advice`${or} `}To start with an empty state: ${completeCommand('state init')}`;
}

/** Prepends commands that copy a fetched project file to the operator's folder, where the command must run: paths are relative. */
function withProjectFile(
  { root, localRoot, file }: ProjectConfig,
  command: string,
  selection: WorkspaceSelection,
): string {
  if ((selection !== undefined && 'member' in selection) || localRoot === undefined || file === undefined)
    return command;
  return `cp ${shellWord(path.join(root, file))} ${shellWord(localRoot)} && cd ${shellWord(localRoot)} && ${command}`;
}

/** Returns the error for a state that this machine wrote to another store, which the earlier searches do not cover. */
function stateInOtherStore({ path: other, serial }: StateMark, newState: NewState): UserError {
  const { workspace, store } = newState;
  const command = "state move --from '{ backend: BACKEND, … }'";
  return new UserError(
    `no state at ${store.location} yet: this machine wrote the state of the workspace ${workspace.workspaceId} to ${other} (serial ${serial})`,
    { hint: moveHint(newState, { text: 'Move the state here. Write its settings as in voxform.yaml: ', command }) },
  );
}

function lostState({ path: file, serial }: StateMark, newState: NewState): LostState {
  const { workspace, store, context } = newState;
  return new LostState(
    `no state at ${store.location}: this machine wrote the state of the workspace ${workspace.workspaceId} to ${shownPath(context.cwd, file)} (serial ${serial}), and it is missing`,
    { hint: moveHint(newState, { text: 'Restore a copy: ', command: 'state push FILE', or: RECOVER }) },
  );
}

function shownPath(cwd: string, file: string): string {
  if (!path.isAbsolute(file)) return file;
  return shellWord(isInside(file, cwd) ? path.relative(cwd, file).replaceAll('\\', '/') : file);
}

const SHARED = 'Set state: { backend: git } in voxform.yaml';

/**
 * Warns if Git tracks the state, because other CI jobs see neither the state in this checkout nor its lock.
 * @throws UserError if there is no state yet, because the ids of new records would be lost with the checkout.
 */
export async function checkStateInCi({ project, workspace, selection, context }: NewState): Promise<void> {
  const { env, log } = context;
  if (!isInCi(env)) return;
  const backend = backendOf(workspace.state);
  const file = backend.fileOf?.(workspace.state);
  if (file === undefined) return;
  const location = backend.describe(workspace.state, project.root);
  const tracking = await trackingOf(file, { env, cwd: project.root });
  if (tracking === 'untracked' && !existsSync(file)) {
    // A platform on this machine is used for trials.
    if (isLoopback(new URL(workspace.baseUrl).hostname)) return;
    throw new UserError(`no state at ${location} yet, and other jobs would not see the state that this job creates`, {
      hint: `${SHARED}. To start with an empty state in this checkout: ${commandFor('voxform state init', selection)}`,
    });
  }
  if (tracking !== 'tracked') return;
  log.warn(
    `the state ${location} is in Git, and other jobs do not see its lock. ${SHARED}, then run: ${commandFor(`voxform state move --from ${location}`, selection)}`,
  );
}

/** Returns whether Git tracks the file; undefined outside a repository or if git is not available. */
async function trackingOf(
  file: string,
  call: Pick<GitCall, 'env' | 'cwd'>,
): Promise<'tracked' | 'untracked' | undefined> {
  const signal = new AbortController().signal;
  const env = gitEnvironment(call.env);
  const result = await runGit(['ls-files', '--error-unmatch', '--', file], { ...call, env, signal }).catch(
    () => undefined,
  );
  return result?.code === 0 ? 'tracked' : result?.code === 1 ? 'untracked' : undefined;
}

interface FirstState {
  readonly session: StateSession;
  readonly document: PlanDocument;
  /** True if a person is asked to approve the plan. */
  readonly needsApproval: boolean;
}

/**
 * Refuses to create records if there is no state yet and no person approves the plan. The real state may be in a store that the settings no
 * longer name, and all records would be created again.
 * @throws UserError
 */
export function refuseFirstState(
  { workspace, store, selection, context: { env } }: NewState,
  { session, document, needsApproval }: FirstState,
): void {
  const creates = document.summary.create;
  if (!session.isFirst || creates === 0 || (needsApproval && !isInCi(env))) return;
  // A platform on this machine is used for trials.
  if (isLoopback(new URL(workspace.baseUrl).hostname)) return;
  throw new UserError(`no state at ${store.location} yet, and this apply would create ${countOf(creates)}`, {
    hint: `If this workspace had a state before, restore or move it. To start with an empty state: ${commandFor('voxform state init', selection)}`,
  });
}

function countOf(records: number): string {
  return `${records} ${records === 1 ? 'record' : 'records'}`;
}

function isInCi({ CI }: RunContext['env']): boolean {
  return CI !== undefined && CI !== '' && CI !== 'false';
}
