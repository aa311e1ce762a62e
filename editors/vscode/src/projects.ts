import path from 'node:path';
import * as vscode from 'vscode';

/** Returns the folders of all projects and fleets in the window. */
export async function projectFolders(): Promise<readonly string[]> {
  const found = await vscode.workspace.findFiles('**/{voxform.yaml,voxform.yml,fleet.yaml}', '**/node_modules/**');
  return [...new Set(found.map(({ fsPath }) => path.dirname(fsPath)))].sort();
}

/**
 * Returns the project of the active editor, or lets the user pick a project. Returns undefined if the user cancels. If the window has no
 * project, shows an error and returns undefined.
 */
export async function chooseProject(): Promise<string | undefined> {
  const found = await vscode.workspace.findFiles('**/voxform.{yaml,yml}', '**/node_modules/**');
  const folders = found.map(({ fsPath }) => path.dirname(fsPath)).sort();
  if (folders.length === 0) {
    void vscode.window.showErrorMessage('There is no voxform.yaml in this window. Open the folder of a project.');
    return undefined;
  }
  const around = projectAround(folders, vscode.window.activeTextEditor?.document.uri.fsPath);
  if (around !== undefined || folders.length < 2) return around ?? folders[0];
  const items = folders.map((folder) => ({ label: vscode.workspace.asRelativePath(folder), folder }));
  return (await vscode.window.showQuickPick(items, { title: 'Project' }))?.folder;
}

/** Returns the innermost of these folders that contains the file. */
export function projectAround(folders: readonly string[], file = ''): string | undefined {
  return folders.filter((folder) => file.startsWith(folder + path.sep)).sort((a, b) => b.length - a.length)[0];
}

/** Returns the URI of a file in the project, for requests about the project as a whole. */
export function projectFile(folder: string): string {
  return vscode.Uri.file(path.join(folder, 'voxform.yaml')).toString();
}
