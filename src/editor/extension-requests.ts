import {
  ProtocolRequestType,
  type TextDocumentIdentifier,
  type TextDocumentPositionParams,
} from 'vscode-languageserver-protocol';

/* Requests of the VS Code extension that are not part of the Language Server Protocol. */

/** A workspace. Its settings are resolved with the environment and `.env`, as for a command. */
export interface ShownWorkspace {
  readonly name: string;
  /** True if the sources of the project are readable and none has the API key. */
  readonly lacksKey: boolean;
  /** The normalized URL that the API key is sent to; empty if the URL is in a variable that is not set. */
  readonly baseUrl: string;
  readonly workspaceId: string;
  /** A digest of the certificates in `ca_file`; null if there are none. */
  readonly certificates: string | null;
}

export interface ShownWorkspaces {
  readonly selected: string | undefined;
  readonly workspaces: readonly ShownWorkspace[];
  /** The URIs of open files that a run reads: manifests, the project file, policies, and files that `$file` names. */
  readonly openFiles: readonly string[];
}

/** Returns the workspaces in the project of a file; null if there is no valid project. */
export const WorkspacesRequest = new ProtocolRequestType<
  { readonly textDocument: TextDocumentIdentifier },
  ShownWorkspaces | null,
  never,
  void,
  void
>('voxform/workspaces');

/** Returns the topic of `voxform explain` for a position; null if there is none. */
export const TopicRequest = new ProtocolRequestType<TextDocumentPositionParams, string | null, never, void, void>(
  'voxform/topic',
);
