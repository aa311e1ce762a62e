import { readFile } from 'node:fs/promises';
import { packagePath } from '../../version.ts';

/**
 * The files of a project besides its manifests, by path.
 * @param isShared true if the state is in the repository, for every clone.
 */
export async function settingsFiles(isShared: boolean): Promise<[path: string, text: string][]> {
  const schemas = ['schemas/manifest.schema.json', 'schemas/project.schema.json'];
  const texts = await Promise.all(schemas.map((name) => readFile(packagePath(name), 'utf8')));
  return [
    ['.gitignore', gitIgnore(isShared)],
    ['.vscode/settings.json', editorSettings],
    ...schemas.map((name, index): [string, string] => [name, texts[index] ?? '']),
  ];
}

function gitIgnore(isShared: boolean): string {
  const state = isShared
    ? `# What voxform keeps on this machine alone. The state is not in it. The ids of a migration are for all.
.voxform/*
!.voxform/migrations/
`
    : `# The state has the only copy of the record ids, and no secrets: commit it, or keep it in another place
# that is backed up. Do not commit its lock, its backups, its history and the cache.
.voxform/cache/
.voxform/*.lock
.voxform/*.backup-*
.voxform/*.history.jsonl
.voxform/*.lost-*
.voxform/quarantine/
.voxform/rescue/
`;
  return `# Secrets and saved plans.
secrets/
*.plan
.env

${state}`;
}

/**
 * The project file of the example, with the state in the repository. The emulator's state stays local, because its records are not kept.
 */
export function withSharedState(projectFile: string): string {
  return projectFile
    .replace(/^ {4}base_url: .*$/m, '$&\n    state: { backend: local }  # Of this machine, as the emulator is.')
    .replace(
      /^#.*\nstate: .*$/m,
      `# Record ids and the values last sent, without secrets: in refs/voxform/ of the remote origin, where CI finds them too.
state: { backend: git }`,
    );
}

const editorSettings = `{
  "yaml.schemas": {
    "./schemas/manifest.schema.json": ["manifests/**/*.yaml", "manifests/**/*.yml", "manifests/**/*.json"],
    "./schemas/project.schema.json": ["voxform.yaml", "voxform.yml"]
  }
}
`;
