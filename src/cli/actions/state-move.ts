import path from 'node:path';
import { problemsIn } from '../../manifests/issue-messages.ts';
import { parseDocuments } from '../../manifests/parse-documents.ts';
import { plural } from '../../output/plural.ts';
import { misuse, UserError } from '../../problems/user-error.ts';
import { readSettings } from '../../project/workspace-settings.ts';
import { type OpenWorkspace, openWorkspace } from '../../runs/open-workspace.ts';
import type { LockOptions } from '../../runs/run-context.ts';
import { freshState } from '../../runs/state-access.ts';
import { emptyDocument } from '../../state/fold.ts';
import { moveState } from '../../state/move.ts';
import { withLease } from '../../state/session.ts';
import { MovedState } from '../../state/state-errors.ts';
import {
  backendOf,
  isBackend,
  isSameState,
  placeOf,
  type StateLocation,
  stateSchema,
} from '../../state/state-location.ts';
import { VERSION } from '../../version.ts';
import type { Context } from '../context.ts';

interface MoveFlags extends LockOptions {
  readonly from: string;
}

export async function moveStateHere(context: Context, { from, ...lock }: MoveFlags): Promise<void> {
  const opened = await openWorkspace(context, { requireKey: false });
  const place = placeFrom(from, { opened, context });
  const { store, workspace } = opened;
  if (isSameState(place, workspace.state)) {
    throw new UserError(`${store.location} is already the state of this workspace`, {
      hint: 'Pass another state with --from, or change `state` of the workspace first.',
    });
  }
  const source = opened.storeAt(place);
  const session = opened.sessionOptions('state move', lock);
  try {
    const { records, serial } = await moveState({ from: source, to: store, session });
    context.terminal.out(
      `Moved the state from ${source.location} to ${store.location}: ${plural(records, 'resource')}, serial ${serial}.\n` +
        `The history of the earlier runs stays at ${source.location}.\n`,
    );
  } catch (error) {
    if (!(error instanceof MovedState) || !(await isHere(opened, error))) throw error;
    context.terminal.out(`The state was already moved from ${source.location} to ${store.location}.\n`);
  }
}

interface InitFlags extends LockOptions {
  readonly sql?: boolean;
}

export async function initState(context: Context, { lockTimeout, sql }: InitFlags): Promise<void> {
  const opened = await openWorkspace(context, { requireKey: false });
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

interface MovePlace {
  readonly opened: OpenWorkspace;
  readonly context: Pick<Context, 'cwd' | 'env' | 'typedEnv'>;
}

/** The name of a backend, a path, or settings as in the project file. */
function placeFrom(from: string, { opened, context }: MovePlace): StateLocation {
  const { cwd, env, typedEnv = env } = context;
  const { project, workspace } = opened;
  const owner = { workspace: workspace.name, root: project.root };
  const isNamed = isBackend(from);
  if (!isNamed && !from.trimStart().startsWith('{'))
    return placeOf({ backend: 'local', path: path.resolve(cwd, from) }, owner);
  const { documents, problems: inText } = parseDocuments(isNamed ? `{ backend: ${from} }` : from);
  const written = {
    state: documents[0]?.value ?? null,
    secrets_dir: workspace.secrets.sources.secretsDir ?? null,
  };
  const { plain, problems } = readSettings(written, { root: project.root, local: undefined, env: typedEnv });
  const settings = stateSchema().safeParse(plain.state);
  const checked = { schema: stateSchema(), value: plain.state, name: 'state' };
  const issues = problemsIn(settings.error, checked);
  const [problem] = [...inText, ...problems, ...issues];
  if (problem !== undefined || documents.length !== 1 || !settings.success) {
    const why = problem?.message ?? 'expected one document';
    throw misuse(
      `--from: ${why}`,
      "Write settings as in voxform.yaml: '{ backend: local, path: .voxform/old.state.json }'",
    );
  }
  return placeOf(settings.data, owner);
}

/** True if the missing state of one location is the one in force. */
async function isHere({ store }: OpenWorkspace, { mark }: MovedState): Promise<boolean> {
  return (await store.read()).document?.lineage === mark.lineage;
}
