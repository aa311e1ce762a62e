import path from 'node:path';
import { readTextFile } from '../../manifests/read-file.ts';
import { type Address, kindOf } from '../../manifests/resource.ts';
import type { RunContext } from '../../runs/run-context.ts';
import type { State } from '../../state/state.ts';
import type { StateStore } from '../../state/store.ts';
import { isObject } from '../../values/json.ts';
import { packageFiles, VERSION } from '../../version.ts';

/* Completion must be fast, so each part of voxform is loaded only if needed. */

export interface CompletionWord {
  readonly value: string;
  readonly description: string;
}

export type CompletionSources = ReturnType<typeof projectSources>;

/**
 * Creates the sources of completion words. They read only the files of the project, including a local state. A source is empty if its
 * file is missing, and rejects if the file cannot be read.
 */
export function projectSources(context: RunContext) {
  const managed = async () => [...(await stateOf(context)).resources.keys()].map(withoutDescription);
  const addresses = async () => {
    const known = new Map((await declared(context)).map((each) => [each.value, each]));
    for (const each of await managed().catch(() => [])) if (!known.has(each.value)) known.set(each.value, each);
    return [...known.values()].sort((a, b) => (a.value < b.value ? -1 : 1));
  };
  /** Returns the managed addresses whose kind belongs to the record type. */
  const readable = async ([name = '']: readonly string[]) => {
    const { recordTypes } = await import('../../runs/record-types.ts');
    const kind = recordTypes.get(name)?.kind?.name ?? name;
    return (await managed()).filter(({ value }) => kindOf(value) === kind);
  };
  return {
    addresses,
    managed,
    readable,
    agents: () => readable(['agents']),
    pending: async () => [...(await stateOf(context)).pending.keys()].map(withoutDescription),
    orphans: async () =>
      (await stateOf(context)).orphans
        .filter(({ closed }) => closed === undefined)
        .map(({ id, address }) => ({ value: id, description: address })),
    async runs() {
      const { store } = await storeOf(context);
      return (await store.history()).toReversed().map(({ run: value, command, began }) => ({
        value,
        description: `${command} ${began}`,
      }));
    },
    workspaces: () => workspacesIn(context.projectFolder ?? context.cwd),
    waivable: () => waivableIn(context.projectFolder ?? context.cwd),
    async recordTypes() {
      const { recordTypes } = await import('../../runs/record-types.ts');
      return [...recordTypes].map(([value, { description }]) => ({ value, description }));
    },
    async callFields() {
      const { callFields } = await import('../../runs/call-selection.ts');
      return callFields.map((field) => withoutDescription(`${field}=`));
    },
    schemas: async () => packageFiles('schemas').map((file) => withoutDescription(file.replace(/\.schema\.json$/, ''))),
    async topics() {
      const [{ kinds, lookups }, { topicsOf }] = await Promise.all([
        import('../../kinds/index.ts'),
        import('../../output/explain/topics.ts'),
      ]);
      return topicsOf(kinds.values(), lookups.values()).map(({ path: value, description }) => ({
        value,
        description,
      }));
    },
  };
}

function withoutDescription(value: string): CompletionWord {
  return { value, description: '' };
}

/** Returns the content of the project file, which may be invalid. */
async function documentIn(folder: string): Promise<Readonly<Record<string, unknown>>> {
  const [{ projectFileIn }, { parseDocuments }] = await Promise.all([
    import('../../project/find-project.ts'),
    import('../../manifests/parse-documents.ts'),
  ]);
  const read = readTextFile(path.join(folder, projectFileIn(folder) ?? ''));
  const [document] = 'text' in read ? parseDocuments(read.text).documents : [];
  return isObject(document?.value) ? document.value : {};
}

async function workspacesIn(folder: string): Promise<CompletionWord[]> {
  const { workspaces } = await documentIn(folder);
  return isObject(workspaces) ? Object.keys(workspaces).map(withoutDescription) : [];
}

/** Returns the policies that can be waived. Policies that only warn need no waiver. */
async function waivableIn(folder: string): Promise<CompletionWord[]> {
  const { policies } = await documentIn(folder);
  return (Array.isArray(policies) ? policies : []).flatMap((policy: unknown) =>
    isObject(policy) && policy.deny !== undefined && policy.waivable !== false
      ? [{ value: String(policy.name), description: String(policy.message ?? '') }]
      : [],
  );
}

async function stateOf(context: RunContext): Promise<State> {
  const [{ readState }, { store, workspaceId }] = await Promise.all([
    import('../../state/session.ts'),
    storeOf(context),
  ]);
  return readState(store, { workspaceId, fresh: { lineage: '', salt: '' } });
}

/** Opens the store of a local state. Throws if there is no project or if the state is not on this machine. */
async function storeOf(context: RunContext): Promise<{ readonly store: StateStore; readonly workspaceId: string }> {
  const { cwd: here, projectFolder: cwd = here, env, workspace: name, now } = context;
  const [{ backendOf, createStore }, { loadProject }, { selectWorkspace }] = await Promise.all([
    import('../../state/state-location.ts'),
    import('../../project/load-project.ts'),
    import('../../project/select-workspace.ts'),
  ]);
  const project = await loadProject({ cwd, env });
  const { state, workspaceId } = selectWorkspace(project, { name, env });
  if (backendOf(state).fileOf === undefined) throw new Error('the state is not on this machine');
  const reader = { host: '', user: '', pid: process.pid, version: VERSION, now, failPoint: undefined };
  const store = createStore(state, { root: project.root, ...reader });
  return { store, workspaceId };
}

async function declared(context: RunContext): Promise<CompletionWord[]> {
  const { cwd: here, projectFolder: cwd = here, env } = context;
  const [{ loadProject }, { findFiles }] = await Promise.all([
    import('../../project/load-project.ts'),
    import('../../manifests/find-files.ts'),
  ]);
  const { root, manifests } = await loadProject({ cwd, env });
  return findFiles(root, manifests).files.flatMap((file) => {
    const read = readTextFile(path.join(root, file));
    return 'text' in read ? declaredIn(read.text).map((value) => ({ value, description: file })) : [];
  });
}

const KIND = /^["']?kind["']?\s*:\s*["']?([A-Za-z]+)/m;
const NAME = /^([ \t]*)["']?name["']?\s*:\s*["']?([a-z0-9][a-z0-9-]*)/gm;

/** Returns the addresses in a manifest. Matches lines instead of parsing: it must be fast, and work while a file is invalid. */
export function declaredIn(text: string): Address[] {
  const documents = text.trimStart().startsWith('{') ? [toBlockStyle(text)] : text.split(/^---.*$/m);
  return documents.flatMap((document) => {
    const kind = KIND.exec(document)?.[1];
    const name = nameIn(metadataOf(document));
    return kind === undefined || name === undefined ? [] : [`${kind}/${name}`];
  });
}

/** Returns the name with the least indentation, because a label may also be called name. */
function nameIn(metadata: string): string | undefined {
  const found = [...metadata.matchAll(NAME)].map(([, indent = '', name = '']) => ({ indent, name }));
  return found.sort((a, b) => a.indent.length - b.indent.length)[0]?.name;
}

/** Returns the content of `metadata` with one key per line. */
function metadataOf(document: string): string {
  const start = /^["']?metadata["']?\s*:\s*?(?=\n|\S)/m.exec(document);
  if (start === null) return '';
  const rest = document.slice(start.index + start[0].length);
  if (!rest.startsWith('{')) return rest.slice(0, end(rest, /\n(?=\S)/));
  const own = rest.slice(1).replace(/\{[^{}]*\}/g, '');
  return own.slice(0, end(own, /\}/)).replace(/,\s*|^\s+/g, '\n');
}

function end(text: string, mark: RegExp): number {
  const at = text.search(mark);
  return at === -1 ? text.length : at;
}

/** Converts the top level of a JSON object to YAML's block style. */
function toBlockStyle(text: string): string {
  return text.replace(/^\s*\{/, '').replace(/^[ \t]+/gm, '');
}
