import { isSecretName } from '../../manifests/value-forms.ts';
import { plural } from '../../output/plural.ts';
import { ExitCode, UserError, usageError } from '../../problems/user-error.ts';
import { Keychain } from '../../project/secret-sources.ts';
import { openProject } from '../../runs/open-workspace.ts';
import type { Context } from '../context.ts';

type SecretName = Readonly<Record<'name', string>>;

const MAX_CHARACTERS = 1024 * 1024;

export async function setSecret(context: Context, { name }: SecretName): Promise<number> {
  const { terminal, interrupts, redactor, log } = context;
  checkName(name);
  const { keychain, isUsed } = await keychainOf(context);
  const { canAsk } = terminal;
  // Fails before the question if there is no key store.
  await keychain.names();
  const value = canAsk
    ? await terminal.ask(`Value of ${name} (not shown): `, interrupts.stop, { isShown: false })
    : await terminal.readInput(MAX_CHARACTERS);
  if (interrupts.exitCode !== undefined) return interrupts.exitCode;
  if (value === undefined || value.trim() === '') {
    throw new UserError(`no value for ${name}; nothing was stored`, {
      ...(!canAsk && { hint: `Pipe it to stdin: printf %s "$VALUE" | voxform secret set ${name}` }),
    });
  }
  redactor.add(value);
  await keychain.set(name, value);
  terminal.out(`Stored ${name} for the project ${keychain.project}.\n`);
  if (!isUsed)
    log.warn('voxform.yaml does not use the key store. Add it, for example: secrets: [environment, keychain]');
  return ExitCode.ok;
}

export async function listSecrets(context: Context): Promise<number> {
  const { keychain } = await keychainOf(context);
  const names = await keychain.names();
  context.terminal.out(names.map((name) => `${name}\n`).join(''));
  context.log.info(`${plural(names.length, 'secret')} of the project ${keychain.project} in the key store`);
  return ExitCode.ok;
}

export async function removeSecret(context: Context, { name }: SecretName): Promise<number> {
  checkName(name);
  const { keychain } = await keychainOf(context);
  if (!(await keychain.remove(name))) {
    const hint = 'List the names: voxform secret list';
    throw new UserError(`the key store has no ${name} for the project ${keychain.project}`, { hint });
  }
  context.terminal.out(`Removed ${name} of the project ${keychain.project}.\n`);
  return ExitCode.ok;
}

function checkName(name: string): void {
  if (isSecretName(name)) return;
  // The argument may contain the value, as in NAME=VALUE.
  throw usageError(
    'the argument is not a valid secret name',
    'Use letters, digits, "_", "-" and ".". Do not pass values as arguments.',
  );
}

/** Returns the key store of the project, and whether a workspace of the project reads secrets from it. */
async function keychainOf(context: Context) {
  const { root, workspaces } = await openProject(context);
  const isUsed = Object.values(workspaces).some(({ secrets }) =>
    secrets.sources.some((source) => source instanceof Keychain),
  );
  return { keychain: new Keychain(root), isUsed };
}
