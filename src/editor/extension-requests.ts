import {
  ProtocolRequestType,
  type TextDocumentIdentifier,
  type TextDocumentPositionParams,
} from 'vscode-languageserver-protocol';

/* Requests of the extension for VS Code that the protocol does not have. */

/** A workspace as commands use it: with the variables of the environment and of `.env`. */
export interface ShownWorkspace {
  readonly name: string;
  /** True if no source of the project has the API key. */
  readonly lacksKey: boolean;
  /** Where the key goes, normalized; empty if its variable is not set. */
  readonly baseUrl: string;
  readonly workspaceId: string;
  /** A digest of the certificates of `ca_file`; null without any. */
  readonly certificates: string | null;
}

export interface ShownWorkspaces {
  readonly selected: string | undefined;
  readonly workspaces: readonly ShownWorkspace[];
  /** The URIs of open files that a run reads: manifests, the project file, policies, and texts of `$file`. */
  readonly openFiles: readonly string[];
}

/** The workspaces of the project of a file; null without a valid project. */
export const WorkspacesRequest = new ProtocolRequestType<
  { readonly textDocument: TextDocumentIdentifier },
  ShownWorkspaces | null,
  never,
  void,
  void
>('voxform/workspaces');

/** The topic of `voxform explain` at a place; null without one. */
export const TopicRequest = new ProtocolRequestType<TextDocumentPositionParams, string | null, never, void, void>(
  'voxform/topic',
);
