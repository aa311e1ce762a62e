import { type Folder, temporaryFolder } from '../cli/voxform-process.ts';
import { agentManifest, projectFile } from '../cli/workspace.ts';

export const projectText = projectFile({
  url: 'http://127.0.0.1:9',
  workspaceId: '01JEMV1AT0RW0RKSPACE000001',
});

export const agent = agentManifest('day');

export const misspelt = agent.replace('  name: day\n  prompt', '  nmae: day\n  prompt');

/** Creates a project with these files, except those that are undefined. */
export function editedProject(files: Readonly<Record<string, string | undefined>>): Promise<Folder> {
  const all = Object.entries({ 'voxform.yaml': projectText, ...files });
  return temporaryFolder(Object.fromEntries(all.flatMap(([name, text]) => (text === undefined ? [] : [[name, text]]))));
}
