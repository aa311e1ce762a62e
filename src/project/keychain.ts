import type { Result, SecretSource } from '../manifests/secret-reader.ts';
import { errorMessage } from '../problems/error-code.ts';
import { UserError } from '../problems/user-error.ts';

type Keyring = typeof import('@napi-rs/keyring');

/** Other stores of Linux forget their entries at the next restart. */
const OPTIONS = { linux: { store: 'secret-service' } } as const;

/** The entries of one project in the key store of the operating system: Keychain, Credential Manager or Secret Service. */
export class Keychain implements SecretSource {
  readonly isLocal = false;
  /** Real path of the project folder. */
  readonly project: string;

  constructor(project: string) {
    this.project = project;
  }

  async find(name: string): Promise<Result<string> | undefined> {
    const value = await this.#use((keyring) => this.#entry(keyring, name).getPassword());
    return value === null || value === '' ? undefined : { value };
  }

  lacks(): string {
    return 'has no entry for this project in the key store';
  }

  async set(name: string, value: string): Promise<void> {
    await this.#use((keyring) => this.#entry(keyring, name).setPassword(value));
  }

  /** False if there was no such entry. */
  remove(name: string): Promise<boolean> {
    return this.#use((keyring) => this.#entry(keyring, name).deletePassword());
  }

  async names(): Promise<string[]> {
    const found = await this.#use((keyring) => {
      // Fails if there is no key store, which the search answers with an empty list.
      this.#entry(keyring, 'any');
      return keyring.findCredentialsAsync(this.#service);
    });
    return found.map(({ account }) => account).sort();
  }

  get #service(): string {
    return `voxform:${this.project}`;
  }

  #entry(keyring: Keyring, name: string): InstanceType<Keyring['AsyncEntry']> {
    return new keyring.AsyncEntry(this.#service, name, OPTIONS);
  }

  /** @throws UserError if there is no key store, or it is locked. */
  async #use<T>(work: (keyring: Keyring) => Promise<T>): Promise<T> {
    try {
      // Not installed where it has no build for the platform.
      return await work(await import('@napi-rs/keyring'));
    } catch (error) {
      throw new UserError(`the key store of this machine cannot be used: ${errorMessage(error).split('\n')[0]}`, {
        hint: 'On Linux, it needs a Secret Service such as gnome-keyring or KWallet in an unlocked session. Without one, set the secrets in the environment or in .env.',
      });
    }
  }
}
