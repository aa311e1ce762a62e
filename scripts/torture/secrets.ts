/** The secrets in the environment of every run. No output and no file of a run may contain them. */
export const SECRETS: Readonly<Record<string, string>> = {
  VOXFORM_API_KEY: 'vx-key-3f9d0c7e51aa4b62',
  PROVIDER_KEY: 'sk-provider-8c1b77d2e09f',
  PROMPT_SECRET: 'the-passphrase-is-heliotrope-4471',
  HOOK_URL: 'https://hooks.example.com/t/9b2f60d1c4/hooks/hook-0',
  STATE_TOKEN: 'glpat-6e0fd1c2b7a94858',
  STATE_IDENTITY: 'AGE-SECRET-KEY-1MLGSGKDT7W7WSKZMVA8EH9MMJQAF5VVP4UNTKTHVYVRW8J6WQ4PQX8ZU5H',
};

/** The public key of STATE_IDENTITY. */
export const RECIPIENT = 'age173v7xhukk0flskrq7dlv2p47j3kac3jvhljhuktzc6ejaqtdkslsmm7pdu';

/** Secrets that the platform stores as plain text. Of keys, it stores salted hashes. */
export const STORED_AS_SENT: ReadonlySet<string> = new Set(['PROMPT_SECRET', 'HOOK_URL']);

/** Returns the names of the secrets in a text, including encoded ones. */
export function secretsIn(text: string): string[] {
  return Object.entries(SECRETS)
    .filter(([, secret]) => encodingsOf(secret).some((encoding) => text.includes(encoding)))
    .map(([name]) => name);
}

function encodingsOf(secret: string): string[] {
  const hex = Buffer.from(secret).toString('hex');
  const inJson = JSON.stringify(secret).slice(1, -1);
  return [secret, inJson, encodeURIComponent(secret), hex, ...[0, 1, 2].map((offset) => base64At(secret, offset))];
}

/** Returns the base64 of a text at an offset within a longer text, without the characters that depend on adjacent bytes. */
function base64At(text: string, offset: number): string {
  const bytes = Buffer.from(text);
  const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
  return encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
}
