import type { SecretStorage } from 'vscode';
import * as vscode from 'vscode';
import { isForWorkspace, type KeyOwner, keyName, keyProblem, keyQuestion } from './key-owner.ts';

/** Stores typed API keys in the editor's secret storage, never in settings or files of the project. */
export class ApiKeys {
  readonly #secrets: SecretStorage;

  constructor(secrets: SecretStorage) {
    this.#secrets = secrets;
  }

  async stored(owner: KeyOwner): Promise<string | undefined> {
    return this.#secrets.get(keyName(owner));
  }

  /** Asks for a key and stores it. An empty answer deletes the stored keys. Returns undefined if no key is entered. */
  async ask(owner: KeyOwner): Promise<string | undefined> {
    const names = await this.#secrets.keys();
    const typed = await vscode.window.showInputBox({
      ...keyQuestion(owner, names),
      password: true,
      ignoreFocusOut: true,
      validateInput: keyProblem,
    });
    if (typed === undefined) return undefined;
    if (typed !== '') {
      await this.#secrets.store(keyName(owner), typed);
      return typed;
    }
    for (const name of names) if (isForWorkspace(name, owner)) await this.#secrets.delete(name);
    return undefined;
  }
}
