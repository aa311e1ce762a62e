/** Each has a core of letters and digits, which can be recognized after truncation, wrapping or escaping. */
export interface Planted {
  readonly name: string;
  readonly text: string;
  readonly core: string;
}

function planted(name: string, core: string, around: (core: string) => string): Planted {
  return { name, core, text: around(core) };
}

export const API_KEY = planted('API_KEY', 'Qz1apikeyW8vu3', (core) => `vf/live+"${core}'\\%=&?`);

/** One secret for each location and each kind of text that may be encoded differently in the output. */
export const places = {
  llmKey: planted('LLM_KEY', 'Qz2llmkeyT5rk9', (core) => `sk-"${core}"\\'end'`),
  header: planted('HEADER', 'Qz3headerM4xp7', (core) => `tok/${core}+a==&b=%41#`),
  pem: planted(
    'PEM',
    'Qz4pemkeyH6nd2yL',
    (core) => `-----BEGIN KEY-----\nMIIEvQ${core}BADANBg\n${core}\n-----END KEY-----`,
  ),
  prompt: planted('PROMPT', 'Qz5promptB3cs8', (core) => `пароль ${core} ü😀 <b>`),
  url: planted('URL_TOKEN', 'Qz6urltokF7je4', (core) => `${core}/é?x=a b&y=${core}`),
  payload: planted('PAYLOAD', 'Qz7payloaG9ha5', (core) => `QWxhZGRpbjpv${core}cGVuIHNlc2FtZQ==`),
  variable: planted('VARIABLE', 'Qz8variabD2ow6', (core) => `**${core}** [x](y) | \`z\` _${core}_`),
  filed: planted('FILED', 'Qz9filedsK1mt3', (core) => `from file: ${core}\ttab`),
} as const;

export const everySecret: readonly Planted[] = [API_KEY, ...Object.values(places)];

/** Returns the position of a secret in a text, in any encoding; undefined if there is none. */
export function leakIn(output: string, secrets: readonly Planted[] = everySecret): string | undefined {
  const together = output.replace(/\s+/g, '');
  const lower = together.toLowerCase();
  for (const { name, text, core } of secrets) {
    for (const [spelling, form] of spellings(core)) {
      const at =
        spelling === 'hex' || spelling === 'plain' ? lower.indexOf(form.toLowerCase()) : together.indexOf(form);
      if (at !== -1) return `${name} in ${spelling}: …${together.slice(Math.max(0, at - 60), at + form.length + 40)}…`;
    }
    for (const whole of [
      JSON.stringify(text).slice(1, -1),
      encodeURIComponent(text),
      Buffer.from(text).toString('base64'),
    ]) {
      if (output.includes(whole)) return `${name} whole: ${whole}`;
    }
  }
  return undefined;
}

/** Yields the core in base64 at every possible offset, without the characters that its neighbors determine. */
function* spellings(core: string): Generator<readonly [string, string]> {
  yield ['plain', core];
  yield ['hex', Buffer.from(core).toString('hex')];
  yield ['UTF-16 escapes', [...core].map((letter) => `\\u00${letter.charCodeAt(0).toString(16)}`).join('')];
  for (const offset of [0, 1, 2]) {
    const shifted = Buffer.concat([Buffer.alloc(offset), Buffer.from(core)]).toString('base64');
    yield ['base64', shifted.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + core.length) * 8) / 6))];
  }
}
