import * as vscode from 'vscode';
import { LanguageClient, type ServerOptions } from 'vscode-languageclient/node';
import { commandEnvironment } from './command-environment.ts';

interface ServerSettings {
  /** The path of voxform's main file. */
  readonly command: string;
  /** False in an untrusted folder, where no secret is read. */
  readonly isTrusted: boolean;
  readonly workspace: string | undefined;
}

/** The editor command that shows the locations of a CodeLens. */
export const SHOW_LOCATIONS = 'voxform.showLocations';

/** Creates a client of `voxform lsp` for the files of these folders, without starting it. */
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
      ['yaml', 'json', 'markdown', 'plaintext'].map((language) => ({
        scheme: 'file',
        language,
        pattern: { baseUri: vscode.Uri.file(folder).toString(), pattern: '**/*' },
      })),
    ),
    initializationOptions: { workspace: workspace ?? '', showLocations: SHOW_LOCATIONS },
  });
}
