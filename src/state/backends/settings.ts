import { z } from 'zod';
import { settingForms } from '../../manifests/schema-fields.ts';
import { UserError } from '../../problems/user-error.ts';
import { Secret } from '../../values/value.ts';

interface About {
  readonly description: string;
  readonly examples: readonly unknown[];
}

/** A setting that is a secret: `{ $secret: NAME }` or `{ $env: NAME }`, never text. */
export function secretSetting(name: string, about: About): z.ZodType<Secret> {
  return z
    .instanceof(Secret, {
      error: `${name} must not be in the file as text; use { $secret: NAME } or { $env: NAME }`,
    })
    .meta({ ...about, examples: [...about.examples] })
    .register(settingForms, { forms: ['$secret', '$env'] });
}

/** A setting that may hold a secret, such as an address: text, `{ $secret: NAME }` or `{ $env: NAME }`. */
export function secretTextSetting(text: z.ZodType<string>, about: About): z.ZodType<Secret | string> {
  return z
    .union([text, z.instanceof(Secret)])
    .meta({ ...about, examples: [...about.examples] })
    .register(settingForms, { forms: ['text', '$secret', '$env'] });
}

/** @throws UserError for a secret that is not set. @param hintFor takes the name of the secret. */
export function requiredText(setting: string, value: Secret | string, hintFor?: (name: string) => string): string {
  if (typeof value === 'string') return value;
  if (value.isSet) return value.reveal();
  const { name } = value;
  throw new UserError(`${setting} needs ${name}, which is not set`, hintFor && { hint: hintFor(name) });
}

/** The text of a setting of `state`. @throws UserError for a secret that is not set. */
export function revealed(setting: string, value: Secret | string): string {
  return requiredText(
    `state.${setting}`,
    value,
    (name) => `Set ${name}, or put its value into a file of that name in the secrets_dir of the workspace.`,
  );
}

/** The setting as in the project file. Text must not contain a password. */
export function settingText(value: Secret | string): string {
  return value instanceof Secret ? `{ $secret: ${value.name} }` : JSON.stringify(value);
}

/** Settings in one line, as `state move --from` takes them. Other values than texts, secrets and booleans are left out. */
export function flowMapping(settings: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(settings).flatMap(([name, value]) => {
    if (typeof value === 'boolean') return [`${name}: ${value}`];
    return value instanceof Secret || typeof value === 'string' ? [`${name}: ${settingText(value)}`] : [];
  });
  return `{ ${parts.join(', ')} }`;
}

export function withWorkspace(text: string, workspace: string): string {
  return text.replaceAll('{workspace}', () => workspace);
}

/** True for an http or https URL without user name, password and fragment. */
export function isPlainAddress(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username + url.password + url.hash === '';
}
