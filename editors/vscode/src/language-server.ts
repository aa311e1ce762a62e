import path from 'node:path';
import * as vscode from 'vscode';
import { LanguageClient, type ServerOptions } from 'vscode-languageclient/node';
import { commandEnvironment } from './command-environment.ts';

interface ServerSettings {
  /** The file of the command. */
  readonly command: string;
  /** False in a folder that the person does not trust: no secret is read. */
  readonly isTrusted: boolean;
  readonly workspace: string | undefined;
}

/** The files that the server may have something to say about. It leaves alone those that no project uses. */
const LANGUAGES = ['yaml', 'json', 'markdown', 'plaintext'];

/** A client of `voxform lsp`, for the projects in these folders. It is not started yet. */
export function languageClient(
  folders: readonly string[],
  { command, isTrusted, workspace }: ServerSettings,
): LanguageClient {
  const server: ServerOptions = {
    command: process.execPath,
    args: [command, 'lsp', ...(isTrusted ? [] : ['--no-secrets'])],
    options: { env: commandEnvironment(process.env, { isTrusted }) },
  };
  return new LanguageClient('voxform', 'voxform', server, {
    documentSelector: folders.flatMap((folder) =>
      LANGUAGES.map((language) => ({
        scheme: 'file',
        language,
        pattern: { baseUri: vscode.Uri.file(folder).toString(), pattern: '**/*' },
      })),
    ),
    initializationOptions: workspace === undefined ? {} : { workspace },
  });
}

/** The folders of all projects in the window, without repetitions. */
export async function projectFolders(): Promise<readonly string[]> {
  const found = await vscode.workspace.findFiles('**/{voxform.yaml,voxform.yml,fleet.yaml}', '**/node_modules/**');
  return [...new Set(found.map(({ fsPath }) => path.dirname(fsPath)))].sort();
}
