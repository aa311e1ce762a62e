import path from 'node:path';
import { isInside } from '../manifests/read-file.ts';
import { shellWord } from '../problems/shell-word.ts';
import { type Advice, advice, UserError } from '../problems/user-error.ts';
import { commandFor, type Reach } from '../problems/workspace-command.ts';
import type { ProjectConfig, WorkspaceConfig } from '../project/project.ts';
import { findOtherState, type OtherState } from '../state/backends/local/find-other-state.ts';
import { local } from '../state/backends/local/local-backend.ts';
import type { Marks, StateMark } from '../state/marks.ts';
import { LostState, RECOVER } from '../state/state-errors.ts';
import { backendOf } from '../state/state-place.ts';
import type { StateElsewhere, StateStore } from '../state/store.ts';
import { isLoopback } from '../values/loopback.ts';

interface NewState {
  readonly project: ProjectConfig;
  readonly workspace: WorkspaceConfig;
  /** The location of the new state, for messages. */
  readonly location: string;
  /** The folder of the user who reads the message. */
  readonly cwd: string;
  readonly reach: Reach;
  /** The states that this machine wrote before. */
  readonly marks: Marks | undefined;
  readonly elsewhere?: StateStore['elsewhere'];
}

/**
 * Refuses to start a state if the same workspace has or had one: under another name, as after a rename in voxform.yaml, or written on
 * this machine and lost. Otherwise everything would be created again.
 * @throws LostState if it is gone, UserError with the command to take it over if it is elsewhere.
 */
export async function refuseSecondState(beginning: NewState): Promise<void> {
  const { project, workspace, marks } = beginning;
  const marked = (await marks?.of(workspace.workspaceId)) ?? [];
  const files = marked.map((mark) => mark.path).filter((each) => path.isAbsolute(each));
  const byDefault = local.place(
    {},
    { workspace: workspace.name, root: project.localRoot ?? project.root },
  ).path;
  const own = backendOf(workspace.state).fileOf(workspace.state);
  const looking = {
    path: own,
    workspaceId: workspace.workspaceId,
    name: path.basename(byDefault),
  };
  const found = await findOtherState({
    ...looking,
    others: [
      ...Object.values(project.workspaces).flatMap(({ state }) => backendOf(state).fileOf(state) ?? []),
      ...files.filter((each) => isInside(each, project.localRoot ?? project.root)),
    ],
    folders: [own ?? byDefault, byDefault].map(path.dirname),
  });
  if (found !== undefined) throw lyingAt(found, beginning);
  // A platform on this machine is for trials: it forgets its records, and starts again at any time.
  if (isLoopback(new URL(workspace.baseUrl).hostname)) return;
  const outside = await findOtherState({ ...looking, others: files, folders: [] });
  if (outside !== undefined) throw lyingAt(outside, beginning);
  const beside = await beginning.elsewhere?.(workspace.workspaceId);
  if (beside !== undefined) throw lying({ ...beside, from: shellWord(beside.from) }, beginning);
  const [lost] = marked.toSorted((a, b) => b.serial - a.serial);
  if (lost === undefined) return;
  const wasHere = path.isAbsolute(lost.path) || lost.path === beginning.location;
  throw wasHere ? gone(lost, beginning) : elsewhere(lost, beginning);
}

function lyingAt({ path: place, records }: OtherState, beginning: NewState): UserError {
  const shown = placeFrom(beginning.cwd, place);
  return lying({ location: shown, from: shown, records }, beginning);
}

function lying({ location: shown, from, records }: StateElsewhere, beginning: NewState): UserError {
  const { workspace, location } = beginning;
  const holds =
    records === undefined
      ? 'which cannot be read,'
      : `with ${records} ${records === 1 ? 'record' : 'records'},`;
  return new UserError(
    `no state at ${location} yet, but ${shown}, ${holds} belongs to the same workspace ${workspace.workspaceId}`,
    {
      hint: hintFor(beginning, { text: 'Move it here: ', command: `state move --from ${from}` }),
    },
  );
}

/** How to move the state here, and how to go on without it. */
function hintFor(
  { project, reach }: NewState,
  { text, command, or }: { readonly text: string; readonly command: string; readonly or?: Advice },
): Advice {
  const given = (words: string): string => inFolder(project, commandFor(`voxform ${words}`, reach), reach);
  return advice`${text}${given(command)}. ${or === undefined ? '' : advice`${or} `}To start with an empty state: ${given('state init')}`;
}

/** Paths of a project in a repository are relative to the operator's folder, so that its project file is needed there. */
function inFolder({ root, localRoot, file }: ProjectConfig, command: string, reach: Reach): string {
  if ((reach !== undefined && 'member' in reach) || localRoot === undefined || file === undefined)
    return command;
  return `cp ${shellWord(path.join(root, file))} ${shellWord(localRoot)} && cd ${shellWord(localRoot)} && ${command}`;
}

/** The state that this machine wrote is in another store, which is not searched before. */
function elsewhere({ path: store, serial }: StateMark, beginning: NewState): UserError {
  const { workspace, location } = beginning;
  const command = "state move --from '{ backend: BACKEND, … }'";
  return new UserError(
    `no state at ${location} yet: this machine wrote the state of the workspace ${workspace.workspaceId} to ${store} (serial ${serial})`,
    {
      hint: hintFor(beginning, { text: 'Move it here, with its settings as in voxform.yaml: ', command }),
    },
  );
}

function gone({ path: place, serial }: StateMark, beginning: NewState): LostState {
  const { workspace, location, cwd } = beginning;
  return new LostState(
    `no state at ${location}: this machine wrote the state of the workspace ${workspace.workspaceId} to ${placeFrom(cwd, place)} (serial ${serial}), and it is missing`,
    { hint: hintFor(beginning, { text: 'Restore a copy: ', command: 'state push FILE', or: RECOVER }) },
  );
}

function placeFrom(cwd: string, place: string): string {
  if (!path.isAbsolute(place)) return place;
  return shellWord(isInside(place, cwd) ? path.relative(cwd, place).replaceAll('\\', '/') : place);
}
