import type { SecretStorage } from 'vscode';
import * as vscode from 'vscode';

interface KeyOwner {
  readonly folder: string;
  readonly workspace: string;
}

/** API keys that a person typed, in the editor's secret storage: never in settings, nor in a file of the project. */
export class ApiKeys {
  readonly #secrets: SecretStorage;

  constructor(secrets: SecretStorage) {
    this.#secrets = secrets;
  }

  async stored(owner: KeyOwner): Promise<string | undefined> {
    return this.#secrets.get(nameOf(owner));
  }

  /** Undefined if the person types none. */
  async ask(owner: KeyOwner): Promise<string | undefined> {
    const typed = await vscode.window.showInputBox({
      title: `API key of the workspace ${owner.workspace}`,
      prompt: "Kept in the editor's secret storage. Leave it empty to forget a stored key.",
      password: true,
      ignoreFocusOut: true,
    });
    if (typed === undefined) return undefined;
    if (typed !== '') await this.#secrets.store(nameOf(owner), typed);
    else await this.#secrets.delete(nameOf(owner));
    return typed || undefined;
  }
}

function nameOf({ folder, workspace }: KeyOwner): string {
  return JSON.stringify(['apiKey', folder, workspace]);
}
