import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { kinds, lookups } from '../../src/kinds/index.ts';
import type { Environment } from '../../src/manifests/secret-reader.ts';
import type { Diagnostic } from '../../src/problems/diagnostic.ts';
import { type LoadDesiredOptions, loadDesired } from '../../src/project/load-desired.ts';
import { loadProject } from '../../src/project/load-project.ts';
import type { Desired } from '../../src/project/project.ts';
import { selectWorkspace } from '../../src/project/select-workspace.ts';

/** A minimal project file. */
export const PLAIN_PROJECT = `version: 1
workspaces:
  test:
    base_url: https://platform.example.com
    workspace_id: 01JWORKSPACE
    api_key: { $secret: PLATFORM_KEY }
`;

export type Files = Readonly<Record<string, string | Uint8Array>>;

/** A project in a temporary folder that is removed when it is disposed of. */
export class TemporaryProject {
  readonly root = realpathSync(mkdtempSync(path.join(tmpdir(), 'voxform-project-')));

  constructor(files: Files) {
    this.write({ 'voxform.yaml': PLAIN_PROJECT, ...files });
  }

  write(files: Files): void {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(this.root, name)), { recursive: true });
      writeFileSync(path.join(this.root, name), content);
    }
  }

  async load({
    env = {},
    mode = 'offline',
  }: {
    env?: Environment;
    mode?: LoadDesiredOptions['mode'];
  } = {}): Promise<Desired> {
    const project = await loadProject({ cwd: this.root, env });
    const workspace = selectWorkspace(project, { name: undefined, env });
    return loadDesired({ project, workspace, kinds, lookups, env, mode });
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** Returns the result of loading a project with these files. */
export async function loadFiles(
  files: Files,
  options?: { env?: Environment; mode?: LoadDesiredOptions['mode'] },
): Promise<Desired> {
  using project = new TemporaryProject(files);
  return await project.load(options);
}

/** Returns `file:line:column path code message`, with a mark for warnings. */
export function lineOf({ severity, file, line, column, path: at, code, message }: Diagnostic): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(':');
  return `${place} ${at ?? '-'} ${severity === 'warning' ? 'warning ' : ''}${code} ${message}`;
}

/** Returns the text of a manifest. */
export function manifest(kind: string, name: string, spec: string): string {
  const indented = spec.trim().replace(/^/gm, '  ');
  return `apiVersion: voxform/v1\nkind: ${kind}\nmetadata:\n  name: ${name}\nspec:\n${indented}\n`;
}
