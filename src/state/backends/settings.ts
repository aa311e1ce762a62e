import { z } from 'zod';
import { settingForms } from '../../manifests/schema-fields.ts';
import { UserError } from '../../problems/user-error.ts';
import { Secret } from '../../values/value.ts';

interface SettingDescription {
  readonly description: string;
  readonly examples: readonly unknown[];
}

/** Returns the schema of a secret setting: `{ $secret: NAME }` or `{ $env: NAME }`, never plain text. */
export function secretSetting(about: SettingDescription): z.ZodType<Secret> {
  return z
    .instanceof(Secret, {
      error: 'must not be in the file as text; use { $secret: NAME } or { $env: NAME }',
    })
    .meta({ ...about, examples: [...about.examples] })
    .register(settingForms, { forms: ['$secret', '$env'] });
}

/** Returns the schema of a setting that may contain a secret, such as an address: text, `{ $secret: NAME }` or `{ $env: NAME }`. */
export function secretTextSetting(text: z.ZodType<string>, about: SettingDescription): z.ZodType<Secret | string> {
  return z
    .union([text, z.instanceof(Secret)])
    .meta({ ...about, examples: [...about.examples] })
    .register(settingForms, { forms: ['text', '$secret', '$env'] });
}

/** Returns the text of a setting. @param hintFor returns the hint for a secret's name. @throws UserError for a secret that is not set. */
export function requiredText(setting: string, value: Secret | string, hintFor?: (name: string) => string): string {
  if (typeof value === 'string') return value;
  if (value.isSet) return value.reveal();
  const { name } = value;
  throw new UserError(`${setting} needs ${name}, which is not set`, hintFor && { hint: hintFor(name) });
}

/** Returns the text of a setting of `state`. @throws UserError for a secret that is not set. */
export function revealed(setting: string, value: Secret | string): string {
  return requiredText(
    `state.${setting}`,
    value,
    (name) => `Set ${name} where voxform.yaml looks for secrets, by default in the environment or .env.`,
  );
}

/** Returns the setting as it is written in the project file. Text must not contain a password. */
export function settingText(value: Secret | string): string {
  return value instanceof Secret ? `{ $secret: ${value.name} }` : JSON.stringify(value);
}

/** Formats settings on one line, for `state move --from`. Omits values other than strings, secrets and booleans. */
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

/** True for an http or https URL without a user name, a password or a fragment. */
export function isPlainAddress(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username + url.password + url.hash === '';
}
