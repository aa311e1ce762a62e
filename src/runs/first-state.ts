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
import type { StateElsewhere, StateStore } from '../state/store.ts';
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
 * Refuses to start a state if the same workspace has or had one: under another name, as after a rename in voxform.yaml, or written on
 * this machine and lost. Otherwise everything would be created again.
 * @param marks of the states that this machine wrote before.
 * @throws LostState if it is gone, UserError with the command to take it over if it is elsewhere.
 */
export async function refuseSecondState(
  beginning: NewState,
  { marks, elsewhere }: { readonly marks: Marks | undefined; readonly elsewhere?: StateStore['elsewhere'] },
): Promise<void> {
  const { project, workspace, store } = beginning;
  const marked = (await marks?.of(workspace.workspaceId)) ?? [];
  const files = marked.map((mark) => mark.path).filter((each) => path.isAbsolute(each));
  const byDefault = local.place({}, { workspace: workspace.name, root: project.localRoot ?? project.root }).path;
  const own = backendOf(workspace.state).fileOf?.(workspace.state);
  const looking = { path: own, workspaceId: workspace.workspaceId, name: path.basename(byDefault) };
  const found = await findOtherState({
    ...looking,
    others: [
      ...Object.values(project.workspaces).flatMap(({ state }) => backendOf(state).fileOf?.(state) ?? []),
      ...files.filter((each) => isInside(each, project.localRoot ?? project.root)),
    ],
    folders: [own ?? byDefault, byDefault].map(path.dirname),
  });
  if (found !== undefined) throw otherFile(found, beginning);
  // A platform on this machine is for trials and may lose its records at any time.
  if (isLoopback(new URL(workspace.baseUrl).hostname)) return;
  const outside = await findOtherState({ ...looking, others: files, folders: [] });
  if (outside !== undefined) throw otherFile(outside, beginning);
  const beside = await elsewhere?.(workspace.workspaceId);
  if (beside !== undefined) throw otherState({ ...beside, from: shellWord(beside.from) }, beginning);
  const [lost] = marked.toSorted((a, b) => b.serial - a.serial);
  if (lost === undefined) return;
  const wasHere = path.isAbsolute(lost.path) || lost.path === store.location;
  throw wasHere ? gone(lost, beginning) : inOtherStore(lost, beginning);
}

function otherFile({ path: place, records }: OtherState, beginning: NewState): UserError {
  const shown = placeFrom(beginning.context.cwd, place);
  return otherState({ location: shown, from: shown, records }, beginning);
}

function otherState({ location: shown, from, records }: StateElsewhere, beginning: NewState): UserError {
  const { workspace, store } = beginning;
  const holds = records === undefined ? 'which cannot be read,' : `with ${countOf(records)},`;
  return new UserError(
    `no state at ${store.location} yet, but ${shown}, ${holds} belongs to the same workspace ${workspace.workspaceId}`,
    { hint: hintFor(beginning, { text: 'Move it here: ', command: `state move --from ${from}` }) },
  );
}

/** How to move the state here, and how to go on without it. */
function hintFor(
  { project, selection }: NewState,
  { text, command, or }: { readonly text: string; readonly command: string; readonly or?: Advice },
): Advice {
  const given = (words: string): string => inFolder(project, commandFor(`voxform ${words}`, selection), selection);
  return advice`${text}${given(command)}. ${or === undefined ? '' : advice`${or} `}To start with an empty state: ${given('state init')}`;
}

/** Paths of a project in a repository are relative to the operator's folder, so that its project file is needed there. */
function inFolder({ root, localRoot, file }: ProjectConfig, command: string, selection: WorkspaceSelection): string {
  if ((selection !== undefined && 'member' in selection) || localRoot === undefined || file === undefined)
    return command;
  return `cp ${shellWord(path.join(root, file))} ${shellWord(localRoot)} && cd ${shellWord(localRoot)} && ${command}`;
}

/** The state that this machine wrote is in another store, which is not searched before. */
function inOtherStore({ path: other, serial }: StateMark, beginning: NewState): UserError {
  const { workspace, store } = beginning;
  const command = "state move --from '{ backend: BACKEND, … }'";
  return new UserError(
    `no state at ${store.location} yet: this machine wrote the state of the workspace ${workspace.workspaceId} to ${other} (serial ${serial})`,
    { hint: hintFor(beginning, { text: 'Move it here, with its settings as in voxform.yaml: ', command }) },
  );
}

function gone({ path: place, serial }: StateMark, beginning: NewState): LostState {
  const { workspace, store, context } = beginning;
  return new LostState(
    `no state at ${store.location}: this machine wrote the state of the workspace ${workspace.workspaceId} to ${placeFrom(context.cwd, place)} (serial ${serial}), and it is missing`,
    { hint: hintFor(beginning, { text: 'Restore a copy: ', command: 'state push FILE', or: RECOVER }) },
  );
}

function placeFrom(cwd: string, place: string): string {
  if (!path.isAbsolute(place)) return place;
  return shellWord(isInside(place, cwd) ? path.relative(cwd, place).replaceAll('\\', '/') : place);
}

const SHARED = 'Set state: { backend: git } in voxform.yaml';

/**
 * Warns if Git tracks the state: other CI jobs see neither a state in this checkout nor its lock.
 * @throws UserError if there is no state yet, because the ids of new records would be lost with the checkout.
 */
export async function checkStateInCi({ project, workspace, selection, context }: NewState): Promise<void> {
  const { env, log } = context;
  if (!isInCi(env)) return;
  const backend = backendOf(workspace.state);
  const file = backend.fileOf?.(workspace.state);
  if (file === undefined) return;
  const location = backend.locationOf(workspace.state, project.root);
  const tracking = await trackingOf(file, { env, cwd: project.root });
  if (tracking === 'untracked' && !existsSync(file)) {
    // A platform on this machine is for trials.
    if (isLoopback(new URL(workspace.baseUrl).hostname)) return;
    throw new UserError(`no state at ${location} yet, and no other job would see the one that this job creates`, {
      hint: `${SHARED}. To start with an empty state in this checkout: ${commandFor('voxform state init', selection)}`,
    });
  }
  if (tracking !== 'tracked') return;
  log.warn(
    `the state ${location} is in Git, and other jobs do not see its lock. ${SHARED}, then run: ${commandFor(`voxform state move --from ${location}`, selection)}`,
  );
}

/** Undefined for a file outside of a repository, and without git. */
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
  /** True if a person is asked for approval. */
  readonly isAsked: boolean;
}

/**
 * Refuses a first state without a person who would notice: the real state may be in a store that the settings no longer name, and
 * everything would be created again.
 * @throws UserError
 */
export function refuseFirstState(
  { workspace, store, selection, context: { env } }: NewState,
  { session, document, isAsked }: FirstState,
): void {
  const creates = document.summary.create;
  if (!session.isFirst || creates === 0 || (isAsked && !isInCi(env))) return;
  // A platform on this machine is for trials.
  if (isLoopback(new URL(workspace.baseUrl).hostname)) return;
  throw new UserError(`no state at ${store.location} yet, and this apply would create ${countOf(creates)}`, {
    hint: `If this workspace had a state before, restore or move it. To start with an empty one: ${commandFor('voxform state init', selection)}`,
  });
}

function countOf(records: number): string {
  return `${records} ${records === 1 ? 'record' : 'records'}`;
}

function isInCi({ CI }: RunContext['env']): boolean {
  return CI !== undefined && CI !== '' && CI !== 'false';
}
