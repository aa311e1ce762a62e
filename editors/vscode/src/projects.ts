import path from 'node:path';
import * as vscode from 'vscode';

/** The folders of all projects in the window, without repetitions. */
export async function projectFolders(): Promise<readonly string[]> {
  const found = await vscode.workspace.findFiles('**/{voxform.yaml,voxform.yml,fleet.yaml}', '**/node_modules/**');
  return [...new Set(found.map(({ fsPath }) => path.dirname(fsPath)))].sort();
}

/** The project of the active editor, or one that the person picks; undefined, with a message, if there is none, and if they pick none. */
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

/** The innermost of these folders that has the file. */
export function projectAround(folders: readonly string[], file = ''): string | undefined {
  return folders.filter((folder) => file.startsWith(folder + path.sep)).sort((a, b) => b.length - a.length)[0];
}

/** A text for requests about a project as a whole. */
export function projectFile(folder: string): string {
  return vscode.Uri.file(path.join(folder, 'voxform.yaml')).toString();
}
