import { isForm } from '../../manifests/layers.ts';
import { isObject, type Json, setOwn } from '../../values/json.ts';
import type { Secret } from '../../values/value.ts';

/** Characters. Shorter secrets may be words of a prompt, such as keys for the emulator. */
const SHORTEST_SECRET = 12;

/**
 * A value as a manifest writes it: an object that looks like a value form is put under `$literal`, and the text of a known secret becomes
 * `$secret`. Undefined if a secret is in a place that allows no form.
 */
export function manifestValue(value: Json, secrets: readonly Secret[]): Json | undefined {
  if (typeof value === 'string') return withSecrets(value, secrets);
  if (Array.isArray(value)) {
    const items = value.map((item: Json) => manifestValue(item, secrets));
    return items.includes(undefined) ? undefined : (items as Json[]);
  }
  if (!isObject(value)) return value;
  if (isForm(value)) return holdsSecret(value, secrets) ? undefined : { $literal: value as Json };
  const written: Record<string, Json> = {};
  for (const key of Object.keys(value)) {
    const item = manifestValue(value[key] as Json, secrets);
    if (item === undefined || withSecrets(key, secrets) !== key) return undefined;
    setOwn(written, key, item);
  }
  return written;
}

function withSecrets(text: string, secrets: readonly Secret[]): Json {
  let parts: Json[] = [text];
  for (const secret of secrets) {
    const hidden = secret.reveal();
    if (hidden.length < SHORTEST_SECRET) continue;
    parts = parts.flatMap((part): Json[] => {
      if (typeof part !== 'string' || !part.includes(hidden)) return [part];
      const form = { $secret: secret.name };
      return part.split(hidden).flatMap((between, index) => (index === 0 ? [between] : [form, between]));
    });
  }
  if (parts.length === 1) return text;
  const told = parts.filter((part) => part !== '');
  return told.length === 1 ? (told[0] ?? '') : { $join: told, separator: '' };
}

function holdsSecret(value: Json, secrets: readonly Secret[]): boolean {
  const text = JSON.stringify(value);
  return secrets.some((secret) => {
    const hidden = secret.reveal();
    return hidden.length >= SHORTEST_SECRET && text.includes(JSON.stringify(hidden).slice(1, -1));
  });
}
