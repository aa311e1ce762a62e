import {
  ProtocolRequestType,
  type TextDocumentIdentifier,
  type TextDocumentPositionParams,
} from 'vscode-languageserver-protocol';

/* Requests of the extension for VS Code that the protocol does not have. */

export interface ShownWorkspaces {
  readonly selected: string | undefined;
  /** `lacksKey` is true if no source of the project has the API key. */
  readonly workspaces: readonly { readonly name: string; readonly lacksKey: boolean }[];
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
