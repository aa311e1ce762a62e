import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { EditorSession } from '../../src/editor/editor-session.ts';
import { Redactor } from '../../src/values/redactor.ts';
import { agent, editedProject } from './edited-project.ts';

it.each([
  { file: '.git/index', isLoaded: false },
  { file: 'voice/node_modules/x/package.json', isLoaded: false },
  { file: '.env', isLoaded: true },
  { file: 'manifests/.keep', isLoaded: true },
])('EditorSession reloads a project after a change of $file: $isLoaded', async ({ file, isLoaded }) => {
  await using folder = await editedProject({ 'manifests/a.yaml': agent });
  const session = new EditorSession(
    {
      env: {},
      usesEnvFile: true,
      readsSecrets: true,
      user: undefined,
      policies: undefined,
      cacheFolder: undefined,
      redactor: new Redactor(),
    },
    {
      diagnostics: () => undefined,
      loaded: () => undefined,
      notice: () => undefined,
      log: () => undefined,
      failure: (error) => expect.unreachable(String(error)),
    },
  );
  session.begin({ workspace: undefined, reportsFileChanges: true, showLocations: '' });
  const opened = session.files.open(pathToFileURL(path.join(folder.root, 'manifests/a.yaml')).href, 'yaml', 1, agent);
  session.changed(opened);
  const loads = session.projectOf(opened);
  const first = await loads?.current();
  session.changedOnDisk([path.join(folder.root, file)]);
  expect((await loads?.current()) !== first).toBe(isLoaded);
  await session.close();
});
