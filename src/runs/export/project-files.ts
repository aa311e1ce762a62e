import { stringify } from 'yaml';
import { NAME_SETTINGS } from '../../manifests/kind-schema.ts';
import { nounOf } from '../../manifests/resource.ts';
import { lastKey } from '../../manifests/schema-fields.ts';
import { EXPORT_PLACEHOLDER } from '../../manifests/secret-reader.ts';
import type { WorkspaceConfig } from '../../project/project.ts';
import type { Json } from '../../values/json.ts';
import type { ExportedManifest, ManifestDrafts, ManifestHead } from './drafts.ts';
import { slugOf } from './manifest-names.ts';
import { type ManifestDraft, manifestText } from './manifest-text.ts';
import { usedSecrets } from './secret-names.ts';

export type FileLayout = 'resource' | 'kind';

export interface ProjectFile {
  /** Relative to the project folder, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

interface ExportedWorkspace extends Pick<WorkspaceConfig, 'name' | 'baseUrl' | 'workspaceId' | 'lookupNames'> {
  readonly apiKeySecret: string;
}

function folderOf(kind: string): string {
  return `${slugOf(nounOf(kind))}s`;
}

const SCHEMA_LINE = '# yaml-language-server: $schema=';
const SCHEMA = 'schemas/manifest.schema.json';

interface ProjectParts {
  readonly workspace: ExportedWorkspace;
  readonly layout: FileLayout;
  readonly file: string;
  /** Puts the ids of the records into the project file instead of the manifests. */
  readonly workspaceIds: boolean;
  readonly settings: readonly ProjectFile[];
}

/** Yields all files of a project. Each file is created on demand. */
export function* projectFiles(
  drafts: ManifestDrafts,
  { workspace, layout, file, workspaceIds, settings }: ProjectParts,
): Generator<ProjectFile> {
  yield* manifestFiles(workspaceIds ? withoutIds(drafts.complete()) : drafts.complete(), layout);
  yield projectFile(workspace, file, workspaceIds ? idsOf(drafts) : undefined);
  yield secretsFile(workspace, drafts.manifests);
  yield* settings;
}

/** Yields the manifests without record ids, because ids belong to one workspace. */
export function* withoutIds(manifests: Iterable<ExportedManifest>): Generator<ExportedManifest> {
  for (const { draft, texts } of manifests) yield { draft: { ...draft, id: undefined }, texts };
}

export function idsOf({ manifests }: ManifestDrafts): Readonly<Record<string, string>> {
  return Object.fromEntries(
    manifests.flatMap(({ kind, name, id }) => (id === undefined ? [] : [[`${kind}/${name}`, id]])),
  );
}

/** Yields the files of manifests and of their long strings. Each file is created on demand. Manifests must be sorted by address. */
export function* manifestFiles(manifests: Iterable<ExportedManifest>, layout: FileLayout): Generator<ProjectFile> {
  if (layout === 'kind') {
    yield* kindFiles(manifests);
    return;
  }
  for (const manifest of manifests) {
    const folder = `manifests/${folderOf(manifest.draft.kind)}`;
    yield* textFiles(manifest);
    const text = manifestText(withFiles(manifest, ''));
    yield { path: `${folder}/${manifest.draft.name}.yaml`, text: `${SCHEMA_LINE}../../${SCHEMA}\n${text}` };
  }
}

/** The maximum length of a file with several manifests, in characters. It is well below the size limit of files. */
const MAX_FILE_LENGTH = 300_000;

/** Yields the documents of each kind, in as few files as possible. */
function* kindFiles(manifests: Iterable<ExportedManifest>): Generator<ProjectFile> {
  const counts = new Map<string, number>();
  let documents: string[] = [];
  let size = 0;
  let kind = '';
  const currentFile = function* (): Generator<ProjectFile> {
    if (documents.length === 0) return;
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    const name = count === 1 ? folderOf(kind) : `${folderOf(kind)}-${count}`;
    const text = `${SCHEMA_LINE}../${SCHEMA}\n${documents.join('---\n')}`;
    documents = [];
    size = 0;
    yield { path: `manifests/${name}.yaml`, text };
  };
  for (const manifest of manifests) {
    yield* textFiles(manifest);
    const text = manifestText(withFiles(manifest, `${folderOf(manifest.draft.kind)}/`));
    if (manifest.draft.kind !== kind || size + text.length > MAX_FILE_LENGTH) yield* currentFile();
    kind = manifest.draft.kind;
    documents.push(text);
    size += text.length;
  }
  yield* currentFile();
}

/** Yields the files of long strings. Each file gets an additional final newline, which is removed when the file is read. */
function* textFiles(manifest: ExportedManifest): Generator<ProjectFile> {
  for (const [path, text] of manifest.texts) {
    yield { path: `manifests/${folderOf(manifest.draft.kind)}/${textFileName(manifest, path)}`, text: `${text}\n` };
  }
}

function withFiles(manifest: ExportedManifest, folder: string): ManifestDraft {
  const { draft, texts } = manifest;
  if (texts.size === 0) return draft;
  const leaves = new Map<string, Json>(draft.leaves);
  for (const path of texts.keys()) leaves.set(path, { $file: `${folder}${textFileName(manifest, path)}` });
  return { ...draft, leaves };
}

/** Returns a name such as `support-line.prompt.md`, with the full path if two long strings of the resource have the same last key. */
function textFileName({ draft, texts }: ExportedManifest, path: string): string {
  const key = lastKey(path);
  const isOnly = [...texts.keys()].filter((each) => lastKey(each) === key).length === 1;
  return `${draft.name}.${(isOnly ? key : path).replaceAll('_', '-')}.md`;
}

export function projectFile(
  { name, baseUrl, workspaceId, apiKeySecret, lookupNames = {} }: ExportedWorkspace,
  file: string,
  ids?: Readonly<Record<string, string>>,
): ProjectFile {
  const names = Object.entries(NAME_SETTINGS).map(([kind, setting]) => [setting, lookupNames[kind] ?? {}]);
  const workspace = {
    base_url: baseUrl,
    workspace_id: workspaceId,
    api_key: { $secret: apiKeySecret },
    ids,
    ...Object.fromEntries(names.filter(([, map]) => Object.keys(map ?? {}).length > 0)),
  };
  const project = { version: 1, workspaces: { [name]: workspace } };
  return { path: file, text: `${SCHEMA_LINE}schemas/project.schema.json\n${stringify(project, { lineWidth: 0 })}` };
}

export function secretsFile(workspace: ExportedWorkspace, manifests: readonly ManifestHead[]): ProjectFile {
  const lines = [
    '# Copy this file to .env, fill in the secrets, and remove unused lines.',
    '# voxform rejects a secret that still has the placeholder below.',
    '',
    `# API key of the workspace ${workspace.name}.`,
    `${workspace.apiKeySecret}=${EXPORT_PLACEHOLDER}`,
  ];
  for (const { name, places } of usedSecrets(manifests)) {
    const [first, ...more] = places.map(({ path, address }) => `${path} of ${address}`);
    const others = more.length === 0 ? '' : `, and ${more.length} more`;
    if (name === workspace.apiKeySecret) continue;
    lines.push('', `# Required by ${first}${others}.`);
    lines.push(`${name}=${EXPORT_PLACEHOLDER}`);
  }
  const listed = new Set(lines.map((line) => line.replace(/=.*/, '')));
  for (const manifest of manifests) {
    for (const { path, name } of manifest.secrets) {
      if (listed.has(name)) continue;
      listed.add(name);
      if (lines.at(-1) !== '') lines.push('');
      lines.push(
        `# Optional: ${path} of ${manifest.kind}/${manifest.name}. If you set it, uncomment it in the manifest.`,
      );
      lines.push(`${name}=${EXPORT_PLACEHOLDER}`);
    }
  }
  return { path: '.env.example', text: `${lines.join('\n')}\n` };
}
