import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { languageClient, projectFolders } from './language-server.ts';

let client: LanguageClient | undefined;

export async function activate({ extensionPath, subscriptions }: vscode.ExtensionContext): Promise<void> {
  const command = vscode.Uri.joinPath(vscode.Uri.file(extensionPath), 'voxform', 'dist', 'main.js').fsPath;
  const start = async () => {
    await client?.dispose();
    client = languageClient(await projectFolders(), {
      command,
      isTrusted: vscode.workspace.isTrusted,
      workspace: undefined,
    });
    await client.start();
  };
  await start();
  const projects = vscode.workspace.createFileSystemWatcher('**/{voxform.yaml,voxform.yml,fleet.yaml}', false, true);
  subscriptions.push(
    projects,
    projects.onDidCreate(start),
    projects.onDidDelete(start),
    vscode.workspace.onDidGrantWorkspaceTrust(start),
    vscode.workspace.onDidChangeWorkspaceFolders(start),
  );
}

export async function deactivate(): Promise<void> {
  await client?.dispose();
}
